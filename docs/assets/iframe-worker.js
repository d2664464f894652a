// A page opened from a disk may not start a worker, and the search is one. A hidden frame stands in for it: the
// frame runs the worker's script, and messages are copied and delivered later, as between page and worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = (data) => this.deliver(data, this, MessageEvent, this.onmessage)
      this.ready = new Promise((resolve) => {
        const script = this.frame.contentDocument.createElement("script")
        script.src = url
        script.onload = () => resolve(inside)
        this.frame.contentDocument.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then((inside) => this.deliver(data, inside, inside.MessageEvent))
    }
    deliver(data, target, Event, handler) {
      const event = new Event("message", { data: structuredClone(data) })
      setTimeout(() => {
        target.dispatchEvent(event)
        handler?.(event)
      })
    }
    terminate() {
      this.frame.remove()
    }
  }
}
