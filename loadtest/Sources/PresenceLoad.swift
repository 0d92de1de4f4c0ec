import ArgumentParser

@main
struct PresenceLoad: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence-load",
        abstract: "Load tests for a presence server.",
        discussion: """
            Its clients share one thread and cost next to nothing, so that what is measured is the server. \
            It ends with status 0 only if everything that it checks held.
            """,
        subcommands: [
            FanoutCommand.self, ConnectCommand.self, IdleCommand.self, SlowCommand.self, ChurnCommand.self,
            TypingCommand.self, StormCommand.self, AccountsCommand.self, MessagesCommand.self,
            MillionCommand.self, ReplayCommand.self, BaselineCommand.self, DemoCommand.self,
        ]
    )
}
