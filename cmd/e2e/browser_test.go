package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// page requests what browsers use and writes the results into itself. The image delays the
// load event until then.
const page = `<!doctype html><title>page</title><pre id="found">nothing</pre><img src="/loaded">
<script>
async function look() {
  const found = {};
  const answer = await fetch('/list');
  const list = await answer.text();
  const timing = performance.getEntriesByName(answer.url)[0];
  found.length = list.length;
  found.last = list.slice(-10);
  found.coding = answer.headers.get('content-encoding') || '';
  found.protocol = timing.nextHopProtocol;
  found.encoded = timing.encodedBodySize;
  found.decoded = timing.decodedBodySize;
  const posted = await fetch('/echo', {method: 'POST', body: 'x'.repeat(100000)});
  found.posted = (await posted.text()).length;
  found.names = [];
  for (let i = 0; i < 6; i++) {
    found.names.push(await (await fetch('/name?' + i)).text());
  }
  found.cookie = await (await fetch('/cookie')).text();
  found.said = await new Promise((resolve, reject) => {
    const socket = new WebSocket('wss://' + location.host + '/socket');
    socket.onopen = () => socket.send('hello');
    socket.onmessage = (event) => { resolve(event.data); socket.close(); };
    socket.onerror = () => reject('the socket failed');
  });
  const events = new EventSource('/events');
  found.event = await new Promise((resolve, reject) => {
    events.onmessage = (event) => { resolve(event.data); events.close(); };
    events.onerror = () => reject('the events failed');
  });
  return found;
}
look().catch((e) => ({problem: String(e)})).then((found) => {
  document.getElementById('found').textContent = JSON.stringify(found);
  return fetch('/found', {method: 'POST'});
});
</script>`

// found is the result written by the page.
type found struct {
	Problem, Coding, Protocol, Last, Cookie, Said, Event string
	Length, Encoded, Decoded, Posted                     int
	Names                                                []string
}

// pages starts a backend for the page.
func pages(t *testing.T, name string, done chan struct{}) string {
	list := strings.Repeat(`{"name":"tea","price":3},`+"\n", 4000) + "the end..."
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	mux.HandleFunc("/list", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, list)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // first: net/http drops unread data when the response begins
		_, _ = w.Write(body)
	})
	mux.HandleFunc("/name", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
	mux.HandleFunc("/cookie", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Cookie")) })
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: news\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // until the browser has it or gives up
	})
	mux.Handle("/socket", websocket.Handler(func(c *websocket.Conn) { _, _ = io.Copy(c, c) }))
	mux.HandleFunc("/found", func(http.ResponseWriter, *http.Request) { close(done) })
	mux.HandleFunc("/loaded", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		case <-time.After(40 * time.Second):
		}
		w.WriteHeader(http.StatusNotFound)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

var foundText = regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`)

// browse loads a URL with Chromium and returns the final page. If the browser exits without
// a connection to the farm, which happens on a busy machine, it is started once more.
func (a *appliance) browse(farm, url string) []byte {
	a.t.Helper()
	out, err := domOf(a.t, url)
	if err != nil && a.connections(farm) == 0 {
		a.t.Logf("the browser did not connect, it is started again: %v", err)
		out, err = domOf(a.t, url)
	}
	if err != nil {
		a.t.Fatalf("the browser, with %d connections: %v", a.connections(farm), err)
	}
	return out
}

// connections returns the number of clients a farm has accepted.
func (a *appliance) connections(farm string) int {
	a.t.Helper()
	var stats struct {
		Farm struct{ Counters struct{ Connections int } }
	}
	if err := json.Unmarshal([]byte(a.must("stats", farm, "--json")), &stats); err != nil {
		a.t.Fatal(err)
	}
	return stats.Farm.Counters.Connections
}

// domOf runs Chromium once.
func domOf(t *testing.T, url string) ([]byte, error) {
	t.Helper()
	profile, err := os.MkdirTemp("", "sluice-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // its last processes may still write
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
		"--ignore-certificate-errors", "--user-data-dir="+profile, "--host-resolver-rules=MAP shop.example 127.0.0.1", "--dump-dom", url)
	cmd.WaitDelay = 5 * time.Second
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s\n%s", err, out, errors.Bytes())
	}
	return out, nil
}

// A browser can use all features of a farm together: HTTP/2, compressed responses, the
// session cookie, a WebSocket over HTTP/2 and server-sent events.
func TestABrowserIsServed(t *testing.T) {
	t.Parallel()
	needs(t, "chromium-headless-shell")
	for _, coding := range []string{"br", "zstd", "gzip"} {
		t.Run(coding, func(t *testing.T) {
			who := asOne()
			a := start(t, who, dataDir(t, who))
			done := make(chan struct{})
			url := strings.Replace(a.farm("shop", pages(t, "one", done)), "http://127.0.0.1", "https://shop.example", 1)
			a.must("backend", "create", "shop", "all", pages(t, "two", done))
			a.must("service", "set", "shop", "all", "compression="+coding, "compression_types=text/*", "compression_types=application/json", "cookieinsert=true", "cookiename=LB")
			a.must("farm", "set", "shop", "listener=https", "logs=true")
			t.Cleanup(func() {
				if t.Failed() {
					b, _ := os.ReadFile(filepath.Join(a.data, "log", "shop.log"))
					t.Logf("what the browser asked for:\n%s", b)
				}
			})
			dom := a.browse("shop", url)
			var f found
			if m := foundText.FindSubmatch(dom); m == nil || json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &f) != nil {
				t.Fatalf("the page is\n%s", dom)
			}
			if f.Problem != "" {
				t.Fatalf("the page reports %s, want \"\"", f.Problem)
			}
			if f.Coding != coding || f.Length != 4000*26+10 || f.Decoded != f.Length || f.Encoded == 0 || f.Encoded > f.Length/10 || f.Last != "the end..." {
				t.Errorf("the list: %+v", f)
			}
			if f.Protocol != "h2" || f.Posted != 100000 || f.Said != "hello" || f.Event != "news" {
				t.Errorf("%+v", f)
			}
			if names := fmt.Sprint(f.Names); names != "[one one one one one one]" && names != "[two two two two two two]" || !strings.HasPrefix(f.Cookie, "LB=") {
				t.Errorf("the cookie %q, and served by %s", f.Cookie, names)
			}
			within(t, 10*time.Second, "the log", func() error {
				for _, line := range a.logged("shop.log") {
					if line["path"] == "/socket" {
						if line["protocol"] != "HTTP/2.0" {
							t.Errorf("the WebSocket: %v", line)
						}
						return nil
					}
				}
				return fmt.Errorf("no WebSocket in the log")
			})
		})
	}
}
