// Wire: the room of etcd's JSON: its requests and answers as values, and what a refusal means. It
// follows etcd's API of version 3 as its gateway writes it. Numbers of 64 bits are texts, keys and
// values are base64, and a field that is zero, empty or false is left out.
//
// Wire may use: no other room.

import Foundation
import SyncProtocols

/// An answer lacks a field, or has another in its place.
struct EtcdWireError: Error, Hashable {
  /// The field's name. It never holds what was found, which may be the user's.
  var field: String
}

/// An object of an answer. A field that is missing has its type's zero.
struct EtcdFields {
  let object: JSONObject

  init(_ value: JSONValue?, _ field: String) throws(EtcdWireError) {
    guard let object = value?.object else { throw EtcdWireError(field: field) }
    self.object = object
  }

  /// Reads a body of one object.
  init(body: some Collection<UInt8>) throws(EtcdWireError) {
    guard let text = String(validating: body, as: UTF8.self),
      let value = try? JSONValue(parsing: text)
    else { throw EtcdWireError(field: "a body in JSON") }
    try self.init(value, "an object")
  }

  func has(_ name: String) -> Bool { object[name] != nil }

  func int64(_ name: String) throws(EtcdWireError) -> Int64 {
    switch object[name] {
    case nil: return 0
    case .string(let text)?: if let number = Int64(text) { return number }
    case .number(let number)?: if let number = number.int64 { return number }
    case .null?, .bool?, .array?, .object?: break
    }
    throw EtcdWireError(field: name)
  }

  func uint64(_ name: String) throws(EtcdWireError) -> UInt64 {
    switch object[name] {
    case nil: return 0
    case .string(let text)?: if let number = UInt64(text) { return number }
    case .number(let number)?: if let number = UInt64(number.text) { return number }
    case .null?, .bool?, .array?, .object?: break
    }
    throw EtcdWireError(field: name)
  }

  func bool(_ name: String) throws(EtcdWireError) -> Bool {
    guard let value = object[name] else { return false }
    guard let bool = value.bool else { throw EtcdWireError(field: name) }
    return bool
  }

  func text(_ name: String) throws(EtcdWireError) -> String {
    guard let value = object[name] else { return "" }
    guard let text = value.string else { throw EtcdWireError(field: name) }
    return text
  }

  func bytes(_ name: String) throws(EtcdWireError) -> [UInt8] {
    let text = try text(name)
    guard let data = Data(base64Encoded: text) else { throw EtcdWireError(field: name) }
    return Array(data)
  }

  func fields(_ name: String) throws(EtcdWireError) -> EtcdFields {
    try EtcdFields(object[name], name)
  }

  func list(_ name: String) throws(EtcdWireError) -> [EtcdFields] {
    guard let value = object[name] else { return [] }
    guard let array = value.array else { throw EtcdWireError(field: name) }
    var list: [EtcdFields] = []
    list.reserveCapacity(array.count)
    for element in array { list.append(try EtcdFields(element, name)) }
    return list
  }
}

extension JSONValue {
  /// A key or a value, as etcd wants it.
  static func base64(_ bytes: [UInt8]) -> JSONValue { .string(Data(bytes).base64EncodedString()) }

  /// A number of 64 bits, as etcd wants it.
  static func long(_ number: Int64) -> JSONValue { .string("\(number)") }
}
