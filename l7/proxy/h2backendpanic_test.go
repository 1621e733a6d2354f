package proxy_test

import (
	"io"
	"net/http"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/proxy"
)

// A panic in the work for one exchange closes its client. The shared backend connection
// continues.
func TestPanicsOfExchangesCostTheirClientsAndNotTheHTTP2Connection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		what int
		post bool // the panic occurs when more of the body may be sent
	}{
		"service": {what: proxy.BreakService}, "farm": {what: proxy.BreakFarm}, "backend": {what: proxy.BreakBackend},
		"farm, in a body": {proxy.BreakFarm, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, say := make(chan uint32), make(chan bool)
			addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
				var held []uint32
				for {
					id, path := h.Request()
					switch path {
					case "":
						return
					case "/held":
						held = append(held, id)
						asked <- id
						if len(held) == 3 {
							<-say
							for _, id := range held {
								if c.post {
									_ = h.WriteWindowUpdate(id, 9)
								} else {
									h.Answer(id, "late")
								}
							}
						}
					default:
						h.Answer(id, path)
					}
				}
			}, xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize}) // no window for bodies
			a := l7test.New(t, 1)
			service := l7test.HTTP2Service(false, addr)
			front := a.Serve(nil, service)
			if got := l7test.Dial(t, front).Send(get("/first")).Get().Text; got != "/first" {
				t.Fatal(got)
			}
			request := get("/held")
			if c.post {
				request = "POST /held HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nsome"
			}
			var clients []*l7test.Client
			for range 3 {
				clients = append(clients, l7test.Dial(t, front).Send(request))
				<-asked
			}
			if n := a.Engine.Break(c.what); n != 3 {
				t.Fatalf("%d exchanges are under way, want 3", n)
			}
			say <- true
			for _, c := range clients {
				_, _ = io.ReadAll(c.Reader()) // the connection ends
			}
			if a.Engine.TakePanics() == 0 {
				t.Error("no panic occurred: the test would check too little")
			}
			a.Serve(nil, service)
			res, err := http.Get("http://" + front + "/after")
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := io.ReadAll(res.Body); res.StatusCode != 200 || string(got) != "/after" || accepted.Load() != 1 {
				t.Errorf("status %d %q on connection %d", res.StatusCode, got, accepted.Load())
			}
		})
	}
}
