public import Foundation

extension ZulipValue {
  /// Objects and lists in one another. A server's have 6; more is an attack on the stack. Foundation
  /// refuses those beyond 512, which is too many for what is done with values on a stack of 512 KB. So
  /// with what is saved: no deeper value was read.
  static let depthMaximum = 50

  /// Reads one JSON text, as Foundation does. No bytes make it trap.
  ///
  /// Foundation may take more than JSON: on Linux a comma behind the last element, and UTF-16. Which
  /// value counts of a name that comes twice is its own affair.
  public init(json bytes: Data) throws(ZulipError) {
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
    // A quarter of the time: what is an object by itself is looked through for a bridge to each of the
    // others before it is found to be none of them.
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
    // Last, for on Linux all that is in a list is made an object before it is found to be no number.
    case let number as NSNumber: try self.init(number)
    default: self = .null  // An NSNull: there is nothing else.
    }
  }

  /// Foundation has one class for booleans and numbers. They differ in the type that they were made of,
  /// on Linux as on Darwin: of the booleans it is a character, which no number in JSON becomes.
  private init(_ number: NSNumber) throws(ZulipError) {
    switch UInt8(bitPattern: unsafe number.objCType.pointee) {
    case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .bool(number.boolValue)
    case UInt8(ascii: "f"), UInt8(ascii: "d"): try self.init(fraction: number)
    case UInt8(ascii: "Q"):
      self = Int64(exactly: number.uint64Value).map { .number($0) } ?? .fraction(number.doubleValue)
    default: self = .number(number.int64Value)
    }
  }

  /// Of a number that was written with a point, with an exponent or with many digits.
  private init(fraction number: NSNumber) throws(ZulipError) {
    // A decimal is exact, but not what it makes of itself, other than its text.
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
