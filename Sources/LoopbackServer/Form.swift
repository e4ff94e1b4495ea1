extension LoopbackServer {
  /// Names and values, as in a query or in the body of a form (`a=1&b=two+words`), in their order.
  public struct Form: Equatable, Sendable {
    /// One name with its value.
    public struct Item: Equatable, Sendable {
      /// The decoded name. Names may repeat.
      public var name: String
      /// The decoded value; empty if only a name was sent.
      public var value: String

      /// Creates an item from decoded text.
      public init(name: String, value: String) {
        self.name = name
        self.value = value
      }
    }

    /// All items in the order of the text, repeated names included.
    public private(set) var items: [Item] = []

    /// Parses percent-encoded text, where `+` is a space. Returns `nil` if it is malformed, or not
    /// UTF-8. A name alone has an empty value.
    public init?(encoded text: String) { self.init(encoded: text.utf8) }

    init?(encoded bytes: some Collection<UInt8>) {
      for part in bytes.split(separator: UInt8(ascii: "&")) {
        let name = part.prefix { $0 != UInt8(ascii: "=") }
        let value = part[name.endIndex...].dropFirst()
        guard let name = HTTPText.percentDecoded(name, plusIsSpace: true),
          let value = HTTPText.percentDecoded(value, plusIsSpace: true)
        else { return nil }
        items.append(Item(name: name, value: value))
      }
    }

    /// The first value of this name. Case matters.
    public subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }

    /// Every value of this name, in order.
    public func values(of name: String) -> [String] {
      items.filter { $0.name == name }.map(\.value)
    }
  }
}

/// Values may be secrets, so only names are shown.
extension LoopbackServer.Form: CustomStringConvertible, CustomReflectable {
  public var description: String { items.map(\.name).joined(separator: ", ") }
  public var customMirror: Mirror { Mirror(self, children: ["names": items.map(\.name)]) }
}

extension LoopbackServer.Form.Item: CustomStringConvertible, CustomReflectable {
  public var description: String { name }
  public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
