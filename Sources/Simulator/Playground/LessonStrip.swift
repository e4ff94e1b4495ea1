#if !hasFeature(Embedded)

  internal import SyncProtocols
  internal import UpdateMachine

  /// A lesson as a strip: a frame for each scene, which reads well without playing anything. The
  /// frames are played by the real clients and their server.
  package struct LessonStrip: Sendable {
    package let lesson: PlaygroundLesson
    package private(set) var frames: [Frame] = []

    /// What is seen at the end of a scene.
    package struct Frame: Sendable {
      package var text: String
      /// What the reader is asked before the next frame.
      package var question: String?
      /// What the lesson says is to be seen, each with what is there instead; `nil`: it is there.
      package var sights: [(what: String, instead: String?)] = []
      package var screens: [Screen] = []
      /// The titles of what the server has.
      package var server: [String] = []
      /// What happened in the scene.
      package var picture: SpaceTime
    }

    /// What a user sees.
    package struct Screen: Sendable {
      package var name: String
      /// What the app tells its user of its freshness; `nil`: it does not run.
      package var banner: String?
      package var titles: [String]
      /// How many of the user's changes are pending, in words; empty: none.
      package var pending: String
      /// What the window knows of its list, as a bar over the IDs; `nil`: there is no window.
      package var bar: String?
    }

    /// A strip has no more frames.
    package static var framesMaximum: Int { 8 }
    /// A diagram has no more moments. What is left out is in the middle.
    private static var momentsMaximum: Int { 26 }

    package init(_ lesson: PlaygroundLesson) {
      self.lesson = lesson
      var session = PlaygroundSession(lesson.played, clients: lesson.clients)
      var begun = Moment(milliseconds: 0)
      for scene in lesson.scenes {
        var sights: [(what: String, instead: String?)] = []
        for act in scene.acts {
          switch act {
          case .step(let step):
            if let why = session.perform(step) { sights.append((step, why)) }
          case .sight(let sight), .rightSight(let sight):
            sights.append((sight, session.objection(to: sight)))
          }
        }
        let state = session.object
        let now = Moment(milliseconds: state["now"]?.int64 ?? 0)
        let picture = session.picture("\(lesson.title), frame \(frames.count + 1)")
        frames.append(
          Frame(
            text: scene.text, question: scene.question, sights: sights,
            screens: (state["clients"]?.array ?? []).map(LessonStrip.screen),
            server: PlaygroundSession.titles(of: state["server"]?["items"]),
            picture: picture.part(from: begun, to: now)
              .withoutMiddle(LessonStrip.momentsMaximum)))
        begun = now + .milliseconds(1)
      }
    }

    private static func screen(_ client: JSONValue) -> Screen {
      let stages = (client["pending"]?.array ?? []).map { $0["stage"]?.string }
      let uncertain = stages.filter { $0 == "uncertain" }.count
      var pending = stages.isEmpty ? "" : "\(stages.count) pending"
      if uncertain > 0 { pending += ", \(uncertain) of them uncertain" }
      return Screen(
        name: "Client \(client["number"]?.int64 ?? 0)", banner: client["banner"]?.string,
        titles: PlaygroundSession.titles(of: client["items"]),
        pending: pending, bar: client["window"]?["bar"]?.string)
    }

    // MARK: As text

    /// The lesson for a terminal.
    package var text: String {
      var text = "\(lesson.title)\n\(lesson.complaint)\n"
      for (index, frame) in frames.enumerated() {
        text += "\n\(index + 1). \(frame.text)\n"
        for screen in frame.screens {
          text += "   \(LessonStrip.words(screen))\n"
          if let bar = screen.bar { text += "   \(bar)\n" }
        }
        text += "   Server: \(LessonStrip.list(frame.server))\n"
        for sight in frame.sights {
          text += sight.instead.map { "   ✕ \(sight.what), but: \($0)\n" } ?? ""
        }
        if let question = frame.question { text += "   ? \(question)\n" }
      }
      for one in lesson.breaks {
        text += "\nBreak it: \(one.text)\n"
        for line in LessonStrip.lines(of: one) {
          text += "   \(line.isStep ? "" : "→ ")\(line.text)\n"
        }
      }
      return text
    }

    /// The steps of a break, and what is to be seen without the rule and with it. They are not
    /// played here, because the rule cannot be switched off here.
    private static func lines(
      of one: PlaygroundLesson.Break
    ) -> [(isStep: Bool, text: String)] {
      one.acts.map { act in
        switch act {
        case .step(let step): (true, step)
        case .sight(let sight): (false, "without the rule: \(sight)")
        case .rightSight(let sight): (false, "with the rule: \(sight)")
        }
      }
    }

    private static func words(_ screen: Screen) -> String {
      guard let banner = screen.banner else { return "\(screen.name): the app does not run" }
      let pending = screen.pending.isEmpty ? "" : ", \(screen.pending)"
      return "\(screen.name): \(list(screen.titles))\(pending). “\(banner)”"
    }

    private static func list(_ titles: [String]) -> String {
      titles.isEmpty ? "nothing" : shortened(titles).joined(separator: ", ")
    }

    /// The first and the last of many.
    private static func shortened(_ titles: [String]) -> [String] {
      titles.count <= 8
        ? titles : titles.prefix(2) + ["… \(titles.count - 4) more …"] + titles.suffix(2)
    }

    // MARK: As HTML

    /// The lesson as a section of a page.
    ///
    /// - Parameter number: the lesson's, from 1, for the IDs in it.
    package func html(number: Int) -> String {
      func escaped(_ text: String) -> String { SpaceTimeDrawing.escaped(text) }
      var html = "<section aria-labelledby=\"lesson-\(number)\">\n"
      html += "<h2 id=\"lesson-\(number)\">\(number). \(escaped(lesson.title))</h2>\n"
      html += "<p class=\"complaint\">\(escaped(lesson.complaint))</p>\n<ol class=\"strip\">\n"
      for (index, frame) in frames.enumerated() {
        html += "<li><p>\(escaped(frame.text))</p>\n<div class=\"screens\">"
        for screen in frame.screens {
          html += "<div class=\"screen\"><h3>\(escaped(screen.name))</h3>"
          html += "<p class=\"banner\">\(escaped(screen.banner ?? "The app does not run."))</p>"
          html += LessonStrip.items(screen.titles, screen.pending)
          if let bar = screen.bar { html += "<pre>\(escaped(bar))</pre>" }
          html += "</div>"
        }
        html += "<div class=\"screen server\"><h3>Server</h3>"
        html += LessonStrip.items(frame.server, "") + "</div></div>\n"
        if !frame.picture.marks.isEmpty { html += diagram(of: index, lesson: number) }
        if let question = frame.question {
          html += "<p class=\"question\">\(escaped(question))</p>\n"
        }
        html += "</li>\n"
      }
      html += "</ol>\n"
      for one in lesson.breaks {
        html += "<div class=\"break\"><h3>Break it</h3><p>\(escaped(one.text))</p><ul>"
        for line in LessonStrip.lines(of: one) {
          html += line.isStep ? "<li>" : "<li class=\"seen\">"
          html += "\(escaped(line.text))</li>"
        }
        html += "</ul></div>\n"
      }
      return html + "</section>\n"
    }

    private func diagram(of index: Int, lesson number: Int) -> String {
      "<div class=\"picture\" tabindex=\"0\" role=\"group\" aria-label=\"Diagram of frame \(index + 1)\">"
        + SpaceTimeDrawing.svg(frames[index].picture, id: "picture-\(number)-\(index + 1)")
        + "</div>\n"
    }

    private static func items(_ titles: [String], _ pending: String) -> String {
      var html = "<ul>"
      for title in shortened(titles) { html += "<li>\(SpaceTimeDrawing.escaped(title))</li>" }
      if titles.isEmpty { html += "<li class=\"none\">nothing</li>" }
      html += "</ul>"
      return pending.isEmpty ? html : html + "<p>\(pending)</p>"
    }

    /// A page of strips that works from disk, and can be printed.
    package static func page(_ strips: [(number: Int, strip: LessonStrip)]) -> String {
      var page = """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>UpdateMachine: lessons as strips</title>
        <style>\(style)</style></head><body>
        <h1>How a client stays up to date</h1>
        <p>Lessons, played by the library's own clients and servers. Read from frame to
        frame, and answer each question before you go on. In a diagram time runs down: a lane is a client
        or the server, an arrow is a message, one that ends in a cross is lost. In the playground you can
        play each lesson, go back, and break its rule.</p>
        <nav aria-label="Lessons"><ol>

        """
      for (number, strip) in strips {
        let title = SpaceTimeDrawing.escaped(strip.lesson.title)
        page += "<li value=\"\(number)\"><a href=\"#lesson-\(number)\">\(title)</a></li>\n"
      }
      page += "</ol></nav>\n"
      for (number, strip) in strips { page += strip.html(number: number) }
      return page + "</body></html>\n"
    }

    private static let style = """
      :root{color-scheme:light dark;--paper:#fff;--ink:#1b1b1f;--soft:#55555e;--line:#8a8a94;--card:#f3f3f6;\
      --accent:#0b5394}
      @media screen and (prefers-color-scheme:dark){:root{--paper:#16161a;--ink:#ececf1;--soft:#b4b4bf;\
      --line:#80808c;--card:#222228;--accent:#8ec5ff}}
      body{margin:0 auto;padding:1rem;max-width:80rem;background:var(--paper);color:var(--ink);\
      font:1rem/1.45 system-ui,"DejaVu Sans",sans-serif}
      a{color:var(--accent)} h2{margin:2rem 0 .3rem} h3{margin:0;font-size:1rem}
      .complaint{font-style:italic} .question{font-weight:600}
      .break{border-left:.4rem double var(--line);padding:.1rem .8rem;margin:.6rem 0}
      .break li.seen{list-style:"→ ";font-weight:600}
      .strip{padding-left:1.4rem} .strip>li{border-top:1px solid var(--line);padding:.6rem 0}
      .screens{display:flex;flex-wrap:wrap;gap:.6rem;margin:.4rem 0}
      .screen{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.5rem .8rem;\
      min-width:11rem;overflow-wrap:anywhere}
      .screen.server{border-style:dashed} .screen ul{margin:.2rem 0;padding-left:1.2rem}
      .screen p{margin:.2rem 0} .banner{border-left:.3rem solid var(--accent);padding-left:.5rem}
      .none{list-style:none;margin-left:-1.2rem;color:var(--soft)}
      .picture{overflow-x:auto;border:1px solid var(--line);border-radius:.4rem}
      @media print{.picture{border:0;overflow:visible} .picture svg{max-width:100%;height:auto} \
      .strip>li{break-inside:avoid}}
      """
  }

#endif
