/* Browsers start no workers on pages that are opened from the disk, and search needs one: there, a hidden frame does its work. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.frame = frame;
      const inside = frame.contentWindow;
      addEventListener("message", (event) => {
        if (event.source !== inside) return;
        const told = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(told);
        this.onmessage?.(told);
      });
      const load = (...urls) => urls.reduce((before, one) => before.then(() => new Promise((done) => {
        const script = document.createElement("script");
        script.src = one;
        script.onload = done;
        document.body.appendChild(script);
      })), Promise.resolve());
      const answer = (data) => parent.postMessage(data, "*");
      inside.document.open();
      inside.document.write(
        `<body><script>postMessage = ${answer}; importScripts = ${load};<\/script><script src="${url}"><\/script></body>`,
      );
      inside.document.close();
      this.ready = new Promise((done) => { inside.onload = done; });
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
