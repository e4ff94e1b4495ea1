package import Foundation
internal import SyncProtocols

extension ZulipValue {
  /// The deepest nesting of objects and lists. A server's answers have 6; more is an attack on the
  /// stack. Saved forms have the same limit, as no deeper value was ever read.
  static let depthMaximum = 50

  /// Parses one JSON text. No input makes it trap. If a name occurs twice, the last one counts.
  package init(json bytes: Data) throws(ZulipError) {
    do throws(JSONError) {
      var reader = JSONReader(Array(bytes), depthMaximum: ZulipValue.depthMaximum)
      try self.init(from: &reader)
      try reader.end()
    } catch {
      throw .malformed(path: "")
    }
  }

  private init(from reader: inout JSONReader) throws(JSONError) {
    switch try reader.token() {
    case .null: self = .null
    case .bool(let bool): self = .bool(bool)
    case .text(let text): self = .text(text)
    case .integer(let integer): self = .number(integer)
    case .decimal(let decimal):
      guard let value = ZulipValue(decimal) else { throw .numberOutOfRange(at: decimal.start) }
      self = value
    case .array:
      var list: [ZulipValue] = []
      while try reader.hasElement() { list.append(try ZulipValue(from: &reader)) }
      self = .list(list)
    case .object:
      var entries: [ZulipFields.Entry] = []
      while let name = try reader.name() {
        entries.append(ZulipFields.Entry(name, try ZulipValue(from: &reader)))
      }
      self = .fields(ZulipFields(entries))
    }
  }

  /// The nearest fraction, or the integer that it is; `nil`: beyond any.
  private init?(_ decimal: JSONDecimal) {
    let digits = String(decoding: decimal.digits, as: UTF8.self)
    let sign = decimal.isNegative ? "-" : ""
    guard let fraction = Double("\(sign)\(digits)e\(decimal.exponent)"), fraction.isFinite else {
      return nil
    }
    self = .fraction(fraction)
    if let whole = number { self = .number(whole) }
  }
}
