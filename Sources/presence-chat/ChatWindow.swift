import Foundation
import Observation
import PresenceKit
import PresenceMessages
import TerminalClients

/// A conversation on the terminal, drawn when its models change.
@MainActor
final class ChatWindow {
    private let terminal: Terminal
    private let address: ServerAddress
    private let token: TokenSource
    private let client: PresenceClient
    let messages: PresenceMessenger
    let model: ConversationModel
    private let roster: RosterModel
    private let connection: ConnectionModel
    private var canvas = Canvas(isColoured: (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty)
    private var keys = ChatKeyDecoder()
    var input = LineEditor()
    /// A message to the user, shown until a key is pressed.
    var notice: String?
    /// The number of message lines below the visible ones.
    private var scrolled = 0
    private var isDrawingDue = false
    /// Whether the process was stopped and has not been resumed.
    private var isSuspended = false
    private var isOver = false

    /// The minimum time between drawings; a higher rate would not be visible.
    private static let betweenDrawings = Duration.milliseconds(20)

    init(
        _ conversation: String, user: String, client: PresenceClient, messages: PresenceMessenger,
        address: ServerAddress, token: TokenSource, terminal: Terminal
    ) {
        self.terminal = terminal
        self.address = address
        self.token = token
        self.client = client
        self.messages = messages
        let roster = RosterModel(client, users: [])
        self.roster = roster
        connection = ConnectionModel(client)
        model = ConversationModel(
            conversation: conversation, user: user, messages: messages, typing: client
        ) { user in roster.people.first { $0.user == user }?.displayName ?? user }
    }

    // MARK: Running

    /// Shows the conversation until a key, a signal or a failure ends it, then restores the terminal.
    func run(_ notice: String?) async -> Outcome {
        self.notice = notice
        let events = TerminalEvents(reading: terminal.descriptor)
        do {
            try terminal.enter()
        } catch {
            return .failed(error)
        }
        model.isVisible = true
        observe()
        draw()
        let outcome = await runLoops(events.events)
        isOver = true
        model.typing.stop()
        terminal.leave()
        return outcome
    }

    private func runLoops(_ events: AsyncStream<TerminalEvent>) async -> Outcome {
        let (model, connection, roster) = (self.model, self.connection, self.roster)
        return await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                await model.run()
                return nil
            }
            group.addTask {
                await connection.run()
                return nil
            }
            group.addTask {
                await roster.run()
                return nil
            }
            group.addTask { await self.failure() }
            group.addTask {
                for await event in events {
                    if let outcome = await self.handle(event) { return outcome }
                }
                return nil
            }
            for await outcome in group {
                guard let outcome else { continue }
                group.cancelAll()
                return outcome
            }
            return .done
        }
    }

    /// Waits for the failure that ends the connection for good, or that excludes the user from the conversation.
    private func failure() async -> Outcome? {
        for await state in client.connectionStates {
            let failure = Failure(
                state, hasConnected: true, tokenIsRenewable: token.isRenewable, address: address.shortText)
            if let failure { return .failed(failure) }
            guard state.isConnected else { continue }
            do {
                _ = try await messages.getMessages(in: model.id, limit: 1)
            } catch let error as PresenceError where error.code == .forbidden {
                let sentence = "\(model.id) is not a conversation that you take part in"
                return .failed(Failure(.refused, sentence))
            } catch {
                // The next connection reports it again.
            }
        }
        return nil
    }

    // MARK: Input

    private func handle(_ event: TerminalEvent) async -> Outcome? {
        switch event {
        case .keys(let bytes):
            for key in keys.decode(bytes) {
                if let outcome = await handle(key) { return outcome }
            }
        case .resized: canvas.forget()
        case .suspend:
            terminal.leave()
            isSuspended = true
            model.isVisible = false
            client.enterBackground()
            // SIGTSTP is handled here; SIGSTOP cannot be. This thread may continue for a moment, and must not touch the
            // terminal until SIGCONT.
            kill(getpid(), SIGSTOP)
            return nil
        case .resumed:
            do {
                try terminal.enterAgain()
            } catch {
                return .failed(error)
            }
            isSuspended = false
            model.isVisible = true
            client.enterForeground()
            canvas.forget()
        case .stop(SIGINT): return .done
        case .stop(let signal): return .stopped(signal)
        case .hangup: return .stopped(SIGHUP)
        }
        drawSoon()
        return nil
    }

    private func handle(_ key: ChatKey) async -> Outcome? {
        notice = nil
        switch key {
        case .enter: return await enter()
        case .escape:
            scrolled = 0
            if model.editing != nil { model.cancelEditing() }
            input.set(model.text)
        case .up:
            if input.text.isEmpty, let message = model.messages.last(where: { model.canEdit($0) }) {
                model.beginEditing(message)
                input.set(model.text)
            }
        case .pageUp: scroll(by: screen.historyHeight - 1)
        case .pageDown: scroll(by: 1 - screen.historyHeight)
        case .redraw: canvas.forget()
        case .endOfInput: if input.text.isEmpty { return .done }
        default:
            // Commands are not shown to others as typing.
            if input.handle(key) { model.text = isCommand ? "" : input.text }
        }
        return nil
    }

    private var isCommand: Bool { model.editing == nil && input.text.hasPrefix("/") && !input.text.hasPrefix("//") }

    private func scroll(by lines: Int) {
        let most = max(0, screen.history(of: content).count - screen.historyHeight)
        if lines > 0, scrolled + lines >= most, model.hasEarlier { Task { await model.loadEarlier() } }
        scrolled = max(0, min(scrolled + lines, most))
    }

    // MARK: Drawing

    private var screen: ChatScreen {
        let size = terminal.size
        return ChatScreen(width: size.width, height: size.height)
    }

    private var content: ChatScreen.Content {
        var content = ChatScreen.Content(model, roster, connection.state, in: .current)
        content.input = input
        content.notice = notice ?? content.notice
        return content
    }

    /// Draws after each change of the content.
    private func observe() {
        withObservationTracking {
            _ = content
            _ = model.conversation
        } onChange: {
            // Called before the change, so the values are read in a later step.
            Task { @MainActor [weak self] in
                guard let self, !isOver else { return }
                roster.users = (model.conversation?.participants ?? []).filter { $0 != self.model.user }
                observe()
                drawSoon()
            }
        }
    }

    func drawSoon() {
        guard !isDrawingDue else { return }
        isDrawingDue = true
        Task {
            try? await Task.sleep(for: Self.betweenDrawings)
            isDrawingDue = false
            if !isOver, !isSuspended { draw() }
        }
    }

    private func draw() {
        let screen = screen
        terminal.write(canvas.update(to: screen.lines(of: content, scrolled: scrolled), width: screen.width))
    }
}
