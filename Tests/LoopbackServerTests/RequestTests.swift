import LoopbackServer
import Testing

/// Tests requests and their parts as values.
@Suite struct RequestTests {
  typealias Request = LoopbackServer.Request
  typealias Form = LoopbackServer.Form

  @Test func `a form is parsed in order, and refused if it is malformed`() {
    let form = Form(encoded: "type=stream&to=%5B1%5D&note=a+b%26c&flag&type=x&&=")
    #expect(form?["type"] == "stream")
    #expect(form?["to"] == "[1]")
    #expect(form?["note"] == "a b&c")
    #expect(form?["flag"] == "")
    #expect(form?["TYPE"] == nil)
    #expect(form?.values(of: "type") == ["stream", "x"])
    #expect(form?.items.count == 6)
    #expect(Form(encoded: "a=%") == nil)
    #expect(Form(encoded: "a=%e2%82") == nil)
    #expect(Form(encoded: "%zz=a") == nil)
  }

  @Test func `a body is a form only with a form's content type`() {
    func form(_ type: String?, _ body: String) -> Form? {
      var headers: LoopbackServer.Headers = [:]
      headers["Content-Type"] = type
      return Request(method: "POST", target: "/", headers: headers, body: Array(body.utf8))?.form
    }
    #expect(form("Application/X-WWW-Form-URLencoded; charset=utf-8", "a=b")?["a"] == "b")
    #expect(form("application/json", "a=b") == nil)
    #expect(form(nil, "a=b") == nil)
    #expect(form("application/x-www-form-urlencoded", "a=%") == nil)
  }

  @Test func `a target is split before it is decoded`() {
    let request = Request(method: "GET", target: "/user%2Fx//%C3%A9?q=%3F&path=/a")
    #expect(request?.path == "/user/x//é")
    #expect(request?.segments == ["user/x", "é"])
    #expect(request?.query.items.map(\.value) == ["?", "/a"])
    #expect(Request(method: "GET", target: "http://host?x=1")?.path == "/")
    #expect(Request(method: "GET", target: "no/slash") == nil)
    #expect(Request(method: "GET", target: "") == nil)
  }

  @Test func `headers are found whatever their case, in order`() {
    var headers: LoopbackServer.Headers = ["A": "1", "B": "2", "a": "3"]
    #expect(headers["a"] == "1")
    #expect(headers.values(of: "A") == ["1", "3"])
    headers["A"] = "4"
    headers["C"] = "5"
    #expect(headers.fields.map(\.name) == ["A", "B", "C"])
    #expect(headers.fields.map(\.value) == ["4", "2", "5"])
    headers["b"] = nil
    #expect(headers.fields.map(\.name) == ["A", "C"])
  }

  @Test func `descriptions and dumps show no secrets`() throws {
    let request = try #require(
      Request(
        method: "POST", target: "/messages?api_key=SECRET", headers: ["Authorization": "SECRET"],
        body: Array("key=SECRET".utf8)))
    let response = LoopbackServer.Response(headers: ["X": "SECRET"], body: Array("SECRET".utf8))
      .with(.garbage(Array("SECRET".utf8)))
    let form = try #require(Form(encoded: "key=SECRET"))
    #expect("\(request)" == "POST /messages")
    #expect("\(response)" == "200, 6 bytes, garbage, 6 bytes")
    var text = "\(request) \(response) \(request.headers) \(form) \(form.items) \(request.query)"
    text += String(reflecting: (request, response, request.headers.fields, form))
    dump((request, response, request.headers, request.query, form, form.items), to: &text)
    #expect(!text.contains("SECRET"))
    #expect(!text.contains("83"), "the secret's bytes do not appear either")
  }
}
