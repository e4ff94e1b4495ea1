import Foundation
public import UpdateMachine

extension ZulipConnection {
  /// Sends any request of Zulip's API, for which the library has no method of its own.
  ///
  ///     let fields = try await connection.ask(.get, "users/\(email)")
  ///     let name = fields["user"]?.fields?["full_name"]?.text
  ///
  /// It never retries. After a failure with ``ZulipFailure/hasLeft``, it is unknown whether the
  /// server performed the request. Do not ask for `events` of a queue that a machine polls: each
  /// poll confirms the events before it.
  ///
  /// - Parameters:
  ///   - method: the method that Zulip's API names for the request.
  ///   - path: the path below `/api/v1/`, as plain text: `"users/me/status"`. It is
  ///     percent-encoded here. An empty part, a part `.` or `..`, and any of `?`, `#`, `%`, `\` and
  ///     control characters are refused. A part that comes from a user must not have a slash:
  ///     check it, because two parts name another request.
  ///   - parameters: the parameters by name. A text is sent as it is, any other value as JSON.
  ///   - deadline: for the whole answer; `nil` means ``ZulipSettings/deadline``.
  /// - Returns: all fields of the answer, with `result` and `msg`.
  /// - Throws: a failure as <doc:Answers> says. Its reason is `malformedPath` if the path could
  ///   lead out of `/api/v1/`. Then nothing was sent.
  @discardableResult
  public func ask(
    _ method: Method, _ path: String, _ parameters: ZulipFields = [:],
    within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> ZulipFields {
    guard let path = ZulipConnection.encodedPath(path) else {
      throw ZulipFailure(.rejected(.badRequest), .malformedPath, hasLeft: false)
    }
    var form = ZulipForm()
    for entry in parameters.entries { form.add(entry.name, entry.value) }
    return try await ask(method, path, form, within: deadline) { answer throws(ZulipError) in
      answer.fields
    }
  }

  /// Percent-encodes a path. Returns `nil` if a client, a proxy or the server could read it as a
  /// path outside of the API, or as more than a path. An escape in the text would be such a second
  /// reading, so there may be none. Nor may a slash be escaped here: each one separates two parts,
  /// even if it is only a piece of a character, as before a combining mark.
  static func encodedPath(_ text: String) -> String? {
    let isPlain = text.unicodeScalars.allSatisfy { scalar in
      scalar.properties.generalCategory != .control && !"?#%\\".unicodeScalars.contains(scalar)
    }
    let parts = text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false)
      .map { String($0) }
    guard isPlain, parts.allSatisfy({ !["", ".", ".."].contains($0) }) else { return nil }
    return parts.map { ZulipForm.encode($0) }.joined(separator: "/")
  }
}
