// The part of Apple's SwiftUI that the example uses, for the type checker.
@_exported import Foundation

@MainActor public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}
extension Never: View { public var body: Never { return fatalError() } }

/// Views of the framework have no body here.
@MainActor public struct Part: View {
    public init() {}
    public var body: Never { return fatalError() }
}

@MainActor @resultBuilder public enum ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> Part { Part() }
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildEither(first: Part) -> Part { first }
    public static func buildEither(second: Part) -> Part { second }
    public static func buildOptional(_ content: Part?) -> Part { Part() }
}

@MainActor public protocol Scene {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
}
extension Never: Scene {}
@MainActor @resultBuilder public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}
@MainActor public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}
extension App { public static func main() {} }
public struct WindowGroup: Scene {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError() }
}

@MainActor @propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) { fatalError() }
    public init(initialValue: Value) { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { fatalError() }
}
@MainActor @propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    public init() {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Binding<Member> { fatalError() }
}
@MainActor @propertyWrapper @dynamicMemberLookup public struct Bindable<Value: AnyObject> {
    public init(wrappedValue: Value) { fatalError() }
    public var wrappedValue: Value
    public var projectedValue: Bindable<Value> { self }
    public subscript<Member>(dynamicMember path: ReferenceWritableKeyPath<Value, Member>) -> Binding<Member> {
        fatalError()
    }
}
extension Binding where Value: AnyObject {
    public subscript<Member>(dynamicMember path: ReferenceWritableKeyPath<Value, Member>) -> Binding<Member> {
        fatalError()
    }
}

@MainActor public struct Text: View {
    public init(_ text: some StringProtocol) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct ProgressView: View {
    public init() {}
    public var body: Never { return fatalError() }
}
@MainActor public struct TextField: View {
    public init(_ title: some StringProtocol, text: Binding<String>) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct SecureField: View {
    public init(_ title: some StringProtocol, text: Binding<String>) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct Toggle: View {
    public init(_ title: some StringProtocol, isOn: Binding<Bool>) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct Button: View {
    public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct Group: View {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct Form: View {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct NavigationStack: View {
    public init(@ViewBuilder root: () -> some View) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct NavigationLink: View {
    public init(@ViewBuilder destination: () -> some View, @ViewBuilder label: () -> some View) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct List: View {
    public init(@ViewBuilder content: () -> some View) {}
    public init<Data: RandomAccessCollection>(_ data: Data, @ViewBuilder row: @escaping (Data.Element) -> some View)
    where Data.Element: Identifiable {}
    public var body: Never { return fatalError() }
}
@MainActor public struct ForEach: View {
    public init<Data: RandomAccessCollection>(_ data: Data, @ViewBuilder row: @escaping (Data.Element) -> some View)
    where Data.Element: Identifiable {}
    public var body: Never { return fatalError() }
}
@MainActor public struct VStack: View {
    public init(alignment: HorizontalAlignment = .center, @ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError() }
}
@MainActor public struct HStack: View {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError() }
}
public enum HorizontalAlignment { case leading, center, trailing }
public enum VerticalEdge { case top, bottom }
public enum Shade { case red, secondary }

extension View {
    public func task(_ action: @escaping @MainActor () async -> Void) -> some View { self }
    public func onAppear(perform action: @escaping @MainActor () -> Void) -> some View { self }
    public func onDisappear(perform action: @escaping @MainActor () -> Void) -> some View { self }
    public func id(_ id: some Hashable) -> some View { self }
    public func badge(_ count: Int) -> some View { self }
    public func disabled(_ isDisabled: Bool) -> some View { self }
    public func foregroundStyle(_ shade: Shade) -> some View { self }
    public func navigationTitle(_ title: some StringProtocol) -> some View { self }
    public func toolbar(@ViewBuilder content: () -> some View) -> some View { self }
    public func swipeActions(@ViewBuilder content: () -> some View) -> some View { self }
    public func safeAreaInset(edge: VerticalEdge, @ViewBuilder content: () -> some View) -> some View { self }
}
