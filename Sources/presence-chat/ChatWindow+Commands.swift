import Foundation
import PresenceKit
import PresenceMessages
import TerminalClients

// Execution of entered lines.
extension ChatWindow {
    func enter() async -> Outcome? {
        guard !input.text.isEmpty else { return nil }
        if model.editing != nil {
            model.text = input.text
            // In a task, because the command waits for the server and keys must not wait.
            Task {
                await model.send()
                input.set(model.text)
                drawSoon()
            }
            return nil
        }
        let command = ChatCommand(input.text)
        if case .send(let text, let isPriority) = command {
            (model.text, model.isPriority) = (text, isPriority)
            if let flaw = model.textError { notice = flaw }
            // Waits for the disk only, so that lines are sent in the order in which they were entered.
            await model.send()
            // Unsent text stays in the field.
            if model.text.isEmpty { input.set("") }
            return nil
        }
        if command == .quit { return .done }
        input.set("")
        model.text = ""
        obey(command)
        return nil
    }

    private func obey(_ command: ChatCommand) {
        let newest = model.messages.last { model.canEdit($0) }
        let failed = model.messages.first { $0.status == .failed }
        switch command {
        case .send, .quit: break
        case .help: notice = ChatCommand.helpText
        case .unknown(let line): notice = "there is no \(line); /help lists the commands"
        case .edit(let text): edit(newest, to: text)
        case .delete:
            with(newest, "you have no message to delete") { [model] in await model.delete($0) }
        case .attach(let path): attach(path)
        case .retry: with(failed, "no message has failed") { [model] in await model.retry($0) }
        case .discard: with(failed, "no message has failed") { [model] in await model.discard($0) }
        case .mute: change("muted") { try await $0.mute($1) }
        case .unmute: change("no longer muted") { try await $0.unmute($1) }
        case .archive: change("archived") { try await $0.archive($1) }
        case .rename(let name): change(nil) { try await $0.rename($1, to: name) }
        case .add(let users): change(nil) { try await $0.changeMembers(of: $1, add: users) }
        case .leave: change("you have left this conversation") { try await $0.leave($1) }
        }
    }

    private func edit(_ message: Message?, to text: String) {
        with(message, "you have no message to change") { [model] in
            model.beginEditing($0)
            model.text = text
            await model.send()
            // Unchanged text stays in the field for another attempt.
            self.input.set(model.text)
        }
    }

    /// Uploads a file and sends it as a separate message.
    private func attach(_ path: String) {
        let file = AttachmentFile(file: URL(fileURLWithPath: NSString(string: path).expandingTildeInPath))
        let (messages, id, name) = (self.messages, model.id, file.name ?? path)
        notice = "\(name): uploading"
        Task {
            do {
                for try await step in messages.upload(file, to: id) {
                    switch step {
                    case .progress(let part): notice = "\(name): \(Int(part * 100))% uploaded"
                    case .saved(let attachment):
                        try await messages.send("", in: id, attachments: [attachment])
                        notice = nil
                    }
                    drawSoon()
                }
            } catch {
                notice = "\(name): \(error.localizedDescription)"
            }
            drawSoon()
        }
    }

    private func with(_ message: Message?, _ complaint: String, _ body: @escaping @MainActor (Message) async -> Void) {
        guard let message else { return notice = complaint }
        Task {
            await body(message)
            drawSoon()
        }
    }

    private func change(
        _ done: String?, _ body: @escaping @Sendable (PresenceMessenger, String) async throws -> Void
    ) {
        let (messages, id) = (self.messages, model.id)
        Task {
            do {
                try await body(messages, id)
                notice = done
            } catch {
                notice = error.localizedDescription
            }
            drawSoon()
        }
    }
}
