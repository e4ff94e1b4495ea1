internal import Foundation
package import LoopbackServer
internal import SyncProtocols

// HTTP around requests and answers.

extension APIRequest {
  /// The request to `/api/v1/…`; `nil`: it is to another place.
  ///
  /// Parameters are those of the query, then those of the form in the body.
  package init?(_ request: LoopbackServer.Request) {
    guard request.segments.prefix(2) == ["api", "v1"], request.segments.count > 2 else {
      return nil
    }
    let items = request.query.items + (request.form?.items ?? [])
    let agent = request.headers["User-Agent"] ?? "unknown"
    self.init(
      request.method, Array(request.segments.dropFirst(2)),
      items.map { Parameter($0.name, $0.value) },
      as: Credentials(request.headers["Authorization"]),
      program: String(agent.prefix { $0 != "/" }))
  }
}

extension APIRequest.Credentials {
  /// Reads the header `Authorization`.
  init(_ header: String?) {
    guard let header else {
      self = .none
      return
    }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.first?.lowercased() == "basic" else {
      self = .notBasic
      return
    }
    guard parts.count == 2, let data = Data(base64Encoded: String(parts[1])),
      let text = String(validating: data, as: UTF8.self), let colon = text.firstIndex(of: ":")
    else {
      self = .malformed
      return
    }
    self = .basic(
      email: String(text[..<colon]), key: String(text[text.index(after: colon)...]))
  }
}

extension APIAnswer {
  package var response: LoopbackServer.Response {
    var response: LoopbackServer.Response
    switch body {
    case .html(let text): response = .text(text, status: status, type: "text/html; charset=utf-8")
    case .json(let value):
      response = .json(value.description, status: status)
      // Zulip's own 405 is JSON that says it is HTML.
      if status == 405 { response.headers["Content-Type"] = "text/html; charset=utf-8" }
      if status == 429, let wait = value["retry-after"]?.number {
        response.headers["Retry-After"] = wait.text
      }
    }
    if status == 401, value(of: "code") == "UNAUTHORIZED" {
      response.headers["WWW-Authenticate"] = "Basic realm=\"zulip\""
    }
    response.headers["Cache-Control"] = "no-cache, no-store, must-revalidate, private"
    return response
  }
}

extension APIAnswer {
  private func value(of name: String) -> String? { json?[name]?.string }
}
