import SyncProtocols
import Testing
import UpdateMachine

struct ClientViewTransactionTests {
  private var view: ViewMap<JSONValue> {
    var view = ViewMap<JSONValue>()
    for (key, value) in ["a": 1, "b": 2, "d": 4] as KeyValuePairs<ViewKey, JSONValue> {
      view[key] = value
    }
    return view
  }

  @Test func `only the transaction sees its writes`() {
    let before = view
    var transaction = ViewTransaction(on: before)
    transaction.put("c", 3)
    transaction.put("a", 10)
    let deleted = [transaction.del("b"), transaction.del("b")]
    #expect(deleted == [true, false])
    #expect(transaction.get("a") == 10)
    #expect(transaction.get("b") == nil)
    #expect(!transaction.has("b"))
    #expect(transaction.has("c"))
    #expect(transaction.scan(from: "b").map { "\($0.key)=\($0.value)" } == ["c=3", "d=4"])
    #expect(before.text == "a=1 b=2 d=4")
    #expect(transaction.view.text == "a=10 c=3 d=4")
  }

  @Test func `a scan begins at a key, and reads the view as it was at its beginning`() {
    var transaction = ViewTransaction(on: view)
    var scanned: [String] = []
    for (key, _) in transaction.scan(from: "b") {
      scanned.append("\(key)")
      transaction.del(key)
      transaction.put(ViewKey("\(key)z"), 0)
    }
    #expect(scanned == ["b", "d"])
    #expect(transaction.view.text == "a=1 bz=0 dz=0")
    #expect(transaction.scan(from: "").map { "\($0.key)" } == ["a", "bz", "dz"])
    #expect(transaction.scan(from: "e").map { "\($0.key)" } == [])
  }

  @Test func `a transaction is made whole or not at all, and returns its result`() throws {
    var view = view
    let old = view.transact { transaction in
      let old = transaction.get("a")
      transaction.put("a", 5)
      return old
    }
    #expect(old == 1)
    #expect(view.text == "a=5 b=2 d=4")
    let checksum = view.checksum
    #expect(throws: ChangeRefusal("no")) {
      try view.transact { transaction throws(ChangeRefusal) in
        transaction.put("a", 6)
        transaction.del("b")
        throw ChangeRefusal("no")
      }
    }
    #expect(view.text == "a=5 b=2 d=4")
    #expect(view.checksum == checksum)
  }

  @Test func `every version has the checksum of its contents`() {
    var view = view
    let before = view.checksum
    view.transact { $0.put("e", 5) }
    #expect(view.checksum != before)
    #expect(view.checksum == view.map.checksum)
    view.transact { $0.del("e") }
    #expect(view.checksum == before)
  }
}
