package import Foundation

extension ZulipValue {
  /// The deepest nesting of objects and lists. A server's answers have 6; more is an attack on the
  /// stack. Foundation's own limit of 512 is too deep for a stack of 512 KB. Saved forms have the
  /// same limit, as no deeper value was ever read.
  static let depthMaximum = 50

  /// Parses one JSON text with Foundation. No input makes it trap.
  ///
  /// Foundation may accept more than JSON: on Linux a trailing comma, and UTF-16. If a name occurs
  /// twice, Foundation decides which value counts.
  package init(json bytes: Data) throws(ZulipError) {
    let object: Any
    do {
      object = try JSONSerialization.jsonObject(with: bytes, options: .fragmentsAllowed)
    } catch {
      throw .malformed(path: "")
    }
    try self.init(object, depth: 0)
  }

  private init(_ object: Any, depth: Int) throws(ZulipError) {
    guard depth <= ZulipValue.depthMaximum else { throw .malformed(path: "") }
    // Takes a quarter of the time: without it, each cast below looks for a bridge from an object
    // before it fails.
    if type(of: object) is AnyObject.Type {
      if let number = object as? NSNumber {
        try self.init(number)
        return
      }
      if object is NSNull {
        self = .null
        return
      }
    }
    switch object {
    case let text as String: self = .text(text)
    case let object as [String: Any]:
      var entries: [ZulipFields.Entry] = []
      entries.reserveCapacity(object.count)
      for (name, value) in object {
        entries.append(ZulipFields.Entry(name, try ZulipValue(value, depth: depth + 1)))
      }
      self = .fields(ZulipFields(entries))
    case let elements as [Any]:
      var list: [ZulipValue] = []
      list.reserveCapacity(elements.count)
      for element in elements { list.append(try ZulipValue(element, depth: depth + 1)) }
      self = .list(list)
    // Last: on Linux each cast of a list's element to NSNumber boxes it first, even if it fails.
    case let number as NSNumber: try self.init(number)
    default: self = .null  // An NSNull: there is nothing else.
    }
  }

  /// Tells booleans from numbers, which share one class in Foundation. They differ in their C type,
  /// on Linux as on Darwin: a boolean has that of a character or a Boolean, and no JSON number has.
  private init(_ number: NSNumber) throws(ZulipError) {
    switch UInt8(bitPattern: unsafe number.objCType.pointee) {
    case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .bool(number.boolValue)
    case UInt8(ascii: "f"), UInt8(ascii: "d"): try self.init(fraction: number)
    case UInt8(ascii: "Q"):
      self = Int64(exactly: number.uint64Value).map { .number($0) } ?? .fraction(number.doubleValue)
    default: self = .number(number.int64Value)
    }
  }

  /// Reads a number that was written with a point, an exponent or many digits.
  private init(fraction number: NSNumber) throws(ZulipError) {
    // A decimal is exact, and so is its text, but not its other conversions.
    let text = number is NSDecimalNumber ? number.stringValue : nil
    if let whole = text.flatMap({ Int64($0) }) {
      self = .number(whole)
      return
    }
    let fraction = text.flatMap { Double($0) } ?? number.doubleValue
    guard fraction.isFinite else { throw .malformed(path: "") }
    self = .fraction(fraction)
    if let whole = self.number { self = .number(whole) }
  }
}
