import Foundation
import PresenceKit
import TerminalClients

/// The table on a terminal, drawn when values change and as time passes.
@MainActor
final class LiveTable: Audience {
    private let address: String
    private let terminal: Terminal
    private var observer: Observer
    private var viewport = Viewport()
    private var keys = KeyDecoder()
    private var canvas = Canvas(isColoured: true)
    private var isDrawingDue = false
    /// Whether the process was stopped and has not been resumed.
    private var isSuspended = false
    private var isOver = false
    private var lastDrawing = ContinuousClock.now

    /// The minimum time between drawings; a higher rate would not be visible.
    private static let betweenDrawings = Duration.milliseconds(33)

    init(_ watching: Watching, on terminal: Terminal) {
        address = watching.subject.address.shortText
        self.terminal = terminal
        observer = Observer(watching.subject)
    }

    /// Watches until a key, a signal or a failure ends it, then restores the terminal.
    static func run(_ watching: Watching, on terminal: Terminal) async -> Outcome {
        let events = TerminalEvents(reading: terminal.descriptor)
        let table = LiveTable(watching, on: terminal)
        do {
            try terminal.enter()
        } catch {
            return .failed(error)
        }
        table.draw()
        let outcome = await watching.run(table, terminal: events.events)
        table.isOver = true
        terminal.leave()
        return outcome
    }

    func handle(_ news: News) async -> Outcome? {
        if case .terminal(let event) = news { return handle(event) }
        if let failure = observer.handle(news) { return .failed(failure) }
        drawSoon()
        return nil
    }

    private func handle(_ event: TerminalEvent) -> Outcome? {
        switch event {
        case .keys(let bytes):
            for key in keys.decode(bytes) {
                switch key {
                case .quit: return .done
                case .redraw: canvas.forget()
                default: viewport.handle(key, count: observer.board.rows.count, height: screen.rowCount)
                }
            }
        case .resized:
            viewport.clamp(count: observer.board.rows.count, height: screen.rowCount)
            // After a change of size, the content of the terminal is undefined.
            canvas.forget()
        case .suspend:
            terminal.leave()
            isSuspended = true
            // SIGTSTP is handled here; SIGSTOP cannot be. It may stop another thread first, so this one may continue
            // for a moment, and must not touch the terminal until SIGCONT.
            kill(getpid(), SIGSTOP)
            return nil
        case .resumed:
            do {
                try terminal.enterAgain()
            } catch {
                return .failed(error)
            }
            isSuspended = false
            canvas.forget()
        case .stop(SIGINT): return .done
        case .stop(let signal): return .stopped(signal)
        case .hangup: return .stopped(SIGHUP)
        }
        drawSoon()
        return nil
    }

    private var screen: Screen {
        let size = terminal.size
        return Screen(width: size.width, height: size.height, address: address)
    }

    // MARK: Drawing

    private func drawSoon() {
        guard !isDrawingDue else { return }
        isDrawingDue = true
        Task {
            try? await Task.sleep(until: lastDrawing + Self.betweenDrawings, clock: .continuous)
            isDrawingDue = false
            if !isOver, !isSuspended { draw() }
        }
    }

    private func draw() {
        let screen = screen
        let lines = screen.lines(of: observer.board, viewport: viewport, now: observer.serverTime.now)
        terminal.write(canvas.update(to: lines, width: screen.width))
        lastDrawing = .now
    }
}
