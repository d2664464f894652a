// Pages opened from a disk may not start workers, and the search is one. Here a hidden frame
// stands in for it: it loads the worker's script and hands messages to and fro.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.early = []
      document.body.append(frame)
      const inside = frame.contentWindow
      // What the script says goes out as an event of this object, what it is told comes in as one of its window.
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = frame.contentDocument.createElement("script")
      script.src = url
      script.onload = () => {
        this.ready = inside
        this.early.splice(0).forEach((data) => this.postMessage(data))
      }
      frame.contentDocument.body.append(script)
    }
    postMessage(data) {
      if (this.ready) this.ready.dispatchEvent(new this.ready.MessageEvent("message", { data }))
      else this.early.push(data)
    }
  }
}
