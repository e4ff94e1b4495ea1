extension LoopbackServer {
  /// The header fields of a request or response, in order, repeated ones included. Names are
  /// compared without regard to case.
  public struct Headers: Equatable, Sendable {
    /// One header field.
    public struct Field: Equatable, Sendable {
      /// The name as it was written. Case does not matter.
      public var name: String
      /// The value, without the blanks around it.
      public var value: String

      /// Creates a field. It is checked only when a response with it is sent.
      public init(name: String, value: String) {
        self.name = name
        self.value = value
      }
    }

    /// All fields in order, repeated names included.
    public private(set) var fields: [Field] = []

    /// Creates headers from fields in order; by default, none.
    public init(_ fields: [Field] = []) { self.fields = fields }

    /// The first value of this name. Setting a value replaces all of this name, at the place of the
    /// first; `nil` removes them.
    public subscript(_ name: String) -> String? {
      get { fields.first { HTTPText.equal($0.name, name) }?.value }
      set {
        let place = fields.firstIndex { HTTPText.equal($0.name, name) } ?? fields.count
        fields.removeAll { HTTPText.equal($0.name, name) }
        if let newValue { fields.insert(Field(name: name, value: newValue), at: place) }
      }
    }

    /// Every value of this name, in order.
    public func values(of name: String) -> [String] {
      fields.filter { HTTPText.equal($0.name, name) }.map(\.value)
    }

    /// Adds a field at the end, after others of the same name.
    public mutating func add(_ name: String, _ value: String) {
      fields.append(Field(name: name, value: value))
    }

    /// The members of all lists with this name, in lower case (`Connection: close, upgrade`).
    func list(_ name: String) -> [String] {
      values(of: name).flatMap { value in
        value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
          .map { HTTPText.lowered(HTTPText.trimmed($0)) }
      }
    }
  }
}

extension LoopbackServer.Headers: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { Field(name: $0.0, value: $0.1) })
  }
}

/// Values may be secrets, so only names are shown.
extension LoopbackServer.Headers: CustomStringConvertible, CustomReflectable {
  public var description: String { fields.map(\.name).joined(separator: ", ") }
  public var customMirror: Mirror { Mirror(self, children: ["names": fields.map(\.name)]) }
}

extension LoopbackServer.Headers.Field: CustomStringConvertible, CustomReflectable {
  public var description: String { name }
  public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
