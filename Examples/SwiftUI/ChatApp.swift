import PresenceMessages
import SwiftUI

/// A whole chat app: sign-in, the list of conversations, a conversation. Its content comes from models of the library.
@main
struct ChatApp: App {
    @State private var form = AuthModel(auth: PresenceApp.shared.account)

    var body: some Scene {
        WindowGroup {
            Group {
                if form.isRestoring {
                    ProgressView()
                } else if let account = form.currentAccount {
                    // Another user gets views of their own.
                    ConversationList(user: account.id, form: form).id(account.id)
                } else {
                    SignIn(form: form)
                }
            }
            .task { await form.run() }
        }
    }
}

extension PresenceApp {
    static let shared = PresenceApp(url: URL(string: "https://presence.example.org")!, storage: storage)

    /// Without a disk the app still works, and forgets all when it ends.
    private static var storage: Storage { (try? .standard()) ?? .memory() }
}

struct SignIn: View {
    @Bindable var form: AuthModel
    @State private var isNew = false

    var body: some View {
        Form {
            TextField("Email", text: $form.email)
            SecureField("Password", text: $form.password)
            if isNew { TextField("Name", text: $form.displayName) }
            if let error = fieldError ?? form.errorMessage { Text(error).foregroundStyle(.red) }
            if let message = form.message { Text(message) }
            Button(isNew ? "Sign up" : "Sign in") { Task { await isNew ? form.signUp() : form.signIn() } }
                .disabled(isNew ? !form.canSignUp : !form.canSignIn)
            Button("Forgotten password") { Task { await form.resetPassword() } }.disabled(!form.canResetPassword)
            Toggle("I am new here", isOn: $isNew)
            Button("Mail me a code") { Task { await form.requestCode() } }.disabled(!form.canRequestCode)
            TextField("Code", text: $form.code)
            Button("Sign in with the code") { Task { await form.signInWithCode() } }.disabled(!form.canSignInWithCode)
            Button("Continue as guest") { Task { await form.signInAsGuest() } }.disabled(!form.canSignInAsGuest)
        }
    }

    /// The field that a new user has to change. Fields of a sign-in are judged when it is tried.
    private var fieldError: String? {
        isNew ? form.emailError ?? form.passwordError ?? form.displayNameError : nil
    }
}

/// A guest chooses an address and a password, and keeps all conversations.
struct Upgrade: View {
    @Bindable var form: AuthModel

    var body: some View {
        Form {
            TextField("Email", text: $form.email)
            SecureField("Password", text: $form.password)
            if let error = form.emailError ?? form.passwordError ?? form.errorMessage {
                Text(error).foregroundStyle(.red)
            }
            if let message = form.message { Text(message) }
            Button("Create account") { Task { await form.upgrade() } }.disabled(!form.canUpgrade)
        }
    }
}

struct ConversationList: View {
    @State private var list: ConversationListModel
    let form: AuthModel

    init(user: String, form: AuthModel) {
        _list = State(initialValue: ConversationListModel(user: user, messages: PresenceApp.shared.messages))
        self.form = form
    }

    var body: some View {
        NavigationStack {
            List(list.conversations) { conversation in
                NavigationLink {
                    Conversation(conversation.id, user: list.user)
                } label: {
                    VStack(alignment: .leading) {
                        Text(list.title(of: conversation))
                        Text(list.preview(of: conversation)).foregroundStyle(.secondary)
                    }
                    .badge(conversation.unreadCount)
                }
            }
            .navigationTitle("Conversations")
            .toolbar {
                if form.isGuest {
                    NavigationLink {
                        Upgrade(form: form)
                    } label: {
                        Text("Keep my account")
                    }
                }
                Button("Sign out") { Task { await form.signOut() } }
            }
        }
        // A launch without a network shows the device's conversations at once.
        .task { await list.run() }
    }
}

struct Conversation: View {
    @State private var chat: ConversationModel

    init(_ id: String, user: String) {
        let app = PresenceApp.shared
        _chat = State(
            initialValue: ConversationModel(conversation: id, user: user, messages: app.messages, typing: app.client))
    }

    var body: some View {
        List {
            if chat.hasEarlier { Button("Earlier messages") { Task { await chat.loadEarlier() } } }
            ForEach(chat.messages) { message in
                VStack(alignment: chat.isOwn(message) ? .trailing : .leading) {
                    Text(message.isDeleted ? "Deleted" : message.text)
                    Text(chat.statusText(of: message) ?? chat.sender(of: message)).foregroundStyle(.secondary)
                }
                .swipeActions {
                    if message.failure != nil { Button("Send again") { Task { await chat.retry(message) } } }
                    if chat.canDelete(message) { Button("Delete") { Task { await chat.delete(message) } } }
                }
            }
            Text(chat.typing.text)
            if let error = chat.textError ?? chat.errorMessage { Text(error).foregroundStyle(.red) }
        }
        .safeAreaInset(edge: .bottom) {
            HStack {
                TextField("Message", text: $chat.text)
                Button("Send") { Task { await chat.send() } }.disabled(!chat.canSend)
            }
        }
        .navigationTitle(chat.title)
        // Messages on the screen count as read.
        .onAppear { chat.isVisible = true }
        .onDisappear { chat.isVisible = false }
        .task { await chat.run() }
    }
}
