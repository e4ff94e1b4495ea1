package import SyncProtocols

/// One request to Zulip's API, without HTTP around it.
package struct APIRequest: Sendable {
  /// Who asks, as the header `Authorization` says.
  package enum Credentials: Sendable {
    case none
    /// Not in the form of HTTP Basic.
    case malformed
    /// Another kind of authentication.
    case notBasic
    case basic(email: String, key: String)
  }

  /// One parameter, decoded.
  package struct Parameter: Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package var method: String
  /// The parts of the path after `/api/v1`.
  package var path: [String]
  package var parameters: [Parameter]
  package var credentials: Credentials
  /// The name of the program that asks: the header `User-Agent`, up to a slash.
  package var program: String

  package init(
    _ method: String, _ path: String, _ parameters: [Parameter] = [],
    as credentials: Credentials = .none, program: String = "Test"
  ) {
    self.init(
      method, path.split(separator: "/").map(String.init), parameters, as: credentials,
      program: program)
  }

  package init(
    _ method: String, _ path: [String], _ parameters: [Parameter], as credentials: Credentials,
    program: String
  ) {
    self.method = method
    self.path = path
    self.parameters = parameters
    self.credentials = credentials
    self.program = program
  }
}

// MARK: Reading parameters. What cannot be read is refused with Zulip's words.

extension APIRequest {
  /// The value as it was sent. If a name is there twice, the last counts.
  func text(_ name: String) -> String? { parameters.last { $0.name == name }?.value }

  func required(_ name: String) throws(APIError) -> String {
    guard let text = text(name) else { throw .missing(name) }
    return text
  }

  /// The value, read as JSON.
  func json(_ name: String) throws(APIError) -> JSONValue? {
    guard let text = text(name) else { return nil }
    guard let value = try? JSONValue(parsing: text) else {
      throw APIError("\(name) is not valid JSON")
    }
    return value
  }

  func bool(_ name: String) throws(APIError) -> Bool? {
    guard let value = try json(name) else { return nil }
    guard let bool = value.bool else { throw APIError("\(name) is not a boolean") }
    return bool
  }

  func integer(_ name: String) throws(APIError) -> Int64? {
    guard let value = try json(name) else { return nil }
    guard let number = value.int64 else { throw APIError("\(name) is not an integer") }
    return number
  }

  /// A number that is not negative, as counts are.
  func count(_ name: String) throws(APIError) -> Int64 {
    let count = try integer(name) ?? 0
    guard count >= 0 else { throw APIError("\(name) is too small") }
    return count
  }

  func texts(_ name: String) throws(APIError) -> [String]? {
    guard let value = try json(name) else { return nil }
    guard let list = value.array else { throw APIError("\(name) is not a list") }
    var texts: [String] = []
    for (index, element) in list.enumerated() {
      guard let text = element.string else { throw APIError("\(name)[\(index)] is not a string") }
      texts.append(text)
    }
    return texts
  }

  func integers(_ name: String) throws(APIError) -> [Int64] {
    guard let value = try json(name) else { throw .missing(name) }
    guard let list = value.array else { throw APIError("\(name) is not a list") }
    var numbers: [Int64] = []
    for (index, element) in list.enumerated() {
      guard let number = element.int64 else {
        throw APIError("\(name)[\(index)] is not an integer")
      }
      numbers.append(number)
    }
    return numbers
  }
}

/// A refusal, as Zulip words it. The client gets it as it is.
package struct APIError: Error {
  var status = 400
  var message: String
  var code: String? = "BAD_REQUEST"
  /// What stands beside the message, such as the ID of a queue.
  var details: [JSONObject.Member] = []

  init(_ message: String) { self.message = message }

  init(_ message: String, code: String?, status: Int = 400, _ details: [JSONObject.Member] = []) {
    self.message = message
    self.code = code
    self.status = status
    self.details = details
  }

  static func missing(_ name: String) -> APIError {
    APIError(
      "Missing '\(name)' argument", code: "REQUEST_VARIABLE_MISSING",
      [.init("var_name", .string(name))])
  }

  static let noSuchMessage = APIError("Invalid message(s)")

  static func narrow(_ why: String) -> APIError {
    APIError(
      "Invalid narrow operator: \(why)", code: "BAD_NARROW", [.init("desc", .string(why))])
  }
}

/// An answer of Zulip's API, without HTTP around it.
package struct APIAnswer: Sendable {
  package enum Body: Sendable {
    case json(JSONValue)
    case html(String)
  }

  package var status: Int
  package var body: Body
  /// The seconds of the header `Retry-After`.
  package var retryAfter: String?
  /// What the line of the conversation says of it.
  package var note: String
}

extension APIAnswer {
  /// Success, with these fields in the envelope.
  static func success(_ fields: JSONObject = [:], note: String) -> APIAnswer {
    var fields = fields
    fields["result"] = "success"
    fields["msg"] = ""
    return APIAnswer(status: 200, body: .json(.object(fields)), note: note)
  }

  static func refusal(_ error: APIError) -> APIAnswer {
    var fields: JSONObject = ["result": "error", "msg": .string(error.message)]
    if let code = error.code { fields["code"] = .string(code) }
    for detail in error.details { fields[detail.name] = detail.value }
    let note = "\(error.status) \(error.code ?? error.message)"
    return APIAnswer(status: error.status, body: .json(.object(fields)), note: note)
  }

  /// What a proxy says when it cannot reach the server.
  static var badGateway: APIAnswer { page(502, "Bad Gateway") }

  static func page(_ status: Int, _ title: String) -> APIAnswer {
    APIAnswer(
      status: status,
      body: .html(
        "<html><head><title>\(status) \(title)</title></head>"
          + "<body><center><h1>\(status) \(title)</h1></center></body></html>\n"),
      note: "\(status) \(title)")
  }

  /// The body, if it is JSON.
  package var json: JSONValue? { if case .json(let value) = body { value } else { nil } }
}

extension JSONValue {
  static func integer(_ number: Int64) -> JSONValue { .number(JSONNumber(number)) }

  static func integers(_ numbers: [Int64]) -> JSONValue { .array(numbers.map { .integer($0) }) }
}
