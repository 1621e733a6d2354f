package notify

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify/webhook"
)

const hookSecret = "0123456789abcdef"

func text(s string) *string { return &s }

// receiver is an HTTPS server that records requests.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	posts  []Post
	tries  []string // IDs of all attempts
	forged int
	answer func() int // returns the status
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{answer: func() int { return 200 }}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.tries = append(r.tries, req.Header.Get(webhook.DeliveryHeader))
		answer := r.answer
		r.mu.Unlock()
		status := answer()
		var p Post
		err := json.Unmarshal(body, &p)
		r.mu.Lock()
		defer r.mu.Unlock()
		if !isSigned(req.Header.Get(webhook.SignatureHeader), body) || err != nil || p.ID != req.Header.Get(webhook.DeliveryHeader) {
			r.forged++
		}
		if status/100 == 2 {
			r.posts = append(r.posts, p)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

// isSigned verifies a signature with the time in the header.
func isSigned(header string, body []byte) bool {
	var at int64
	for i := len("t="); i < len(header) && header[i] != ','; i++ {
		at = at*10 + int64(header[i]-'0')
	}
	return header == webhook.Sign([]byte(hookSecret), time.Unix(at, 0), body)
}

func (r *receiver) answers(f func() int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// ca returns the authority list that verifies it.
func (r *receiver) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
}

// tried returns the number of messages, including retries.
func (r *receiver) tried() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tries)
}

func (r *receiver) got(t *testing.T, n int) []Post {
	t.Helper()
	enginetest.Eventually(t, "messages come", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.posts) >= n })
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.posts)
}

// hooked returns a house with a webhook for each receiver, named a, b, ….
func hooked(t *testing.T, receivers ...*receiver) *house {
	h := newHouse(t)
	h.Manager.options.Authorities = authoritiesOf(receivers)
	for i, r := range receivers {
		w := Webhook{Name: string(rune('a' + i)), URL: r.URL + "/in", CA: string(rune('a' + i)), Secret: text(hookSecret)}
		if err := h.AddWebhook(root, w, nothing); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func authoritiesOf(receivers []*receiver) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) { return receivers[name[0]-'a'].ca(), nil }
}

func hapless(kind event.Kind, severity event.Severity, text string, at time.Time) Happening {
	return Happening{event.Shown{Kind: kind, Severity: severity, Time: at, Text: text}, text}
}

// send sends one message to all webhooks that select it.
func (h *house) send(s string) {
	h.tell(hapless(event.BackendDown, event.Warning, s, h.options.Now()), h.options.Now())
	h.pass(GatherTime)
	h.sendDigests(h.options.Now())
}

func TestWebhookMessagesAreSigned(t *testing.T) {
	r := newReceiver(t)
	h, l := hooked(t, r), oddly(1, 2)
	h.look(0, l)
	l.is(farm.StatusDown, 2)
	l.why[2] = "refused three connects"
	for range 8 {
		h.look(tick, l)
	}
	posts := r.got(t, 1)
	p := posts[0]
	if len(posts) != 1 || len(p.ID) != 32 || p.Host != "lb1" || p.Severity != event.Warning || p.Summary != "backend 1 (10.0.0.1:8002) of service web of farm shop is down" || len(p.Events) != 1 || r.forged != 0 {
		t.Fatalf("%+v", posts)
	}
	want := event.Shown{Kind: event.BackendDown, Severity: event.Warning, Time: time.Date(2026, 11, 24, 9, 0, 2, 0, time.UTC), Farm: "shop", Service: "web", Backend: "10.0.0.1:8002",
		Text: "backend 1 (10.0.0.1:8002) of service web of farm shop is down: it refused three connects"}
	if p.Events[0] != want {
		t.Errorf("%+v\nwant %+v", p.Events[0], want)
	}
	if d := h.Delivery(); d != (Delivery{}) { // no mail server is configured
		t.Errorf("mails: %+v", d)
	}
	enginetest.Eventually(t, "it is counted", func() bool {
		v, err := h.Webhook("a")
		return err == nil && v.Delivery == (Delivery{Sent: 1}) && v.Problem == ""
	})
}

func TestHangingWebhookDelaysNoOther(t *testing.T) {
	slow, quick := newReceiver(t), newReceiver(t)
	over, begun := make(chan struct{}), make(chan struct{}, 9)
	slow.answers(func() int { begun <- struct{}{}; <-over; return 200 })
	h := hooked(t, slow, quick)
	h.set(t)
	h.send("one")
	<-begun
	h.send("two")
	h.pass(QuietTime)
	h.sendDigests(h.options.Now())
	quick.got(t, 2)
	if len(h.took(t)) != 2 {
		t.Error("mails wait")
	}
	close(over)
	slow.got(t, 2)
}

func TestMessagesAreTriedAgainWithTheSameID(t *testing.T) {
	r := newReceiver(t)
	r.answers(func() int { return 503 })
	h := hooked(t, r)
	h.send("one")
	problem := func() string { v, _ := h.Webhook("a"); return v.Problem }
	for n := range 3 {
		h.paused(t, n+1)
		h.after <- time.Time{}
	}
	h.paused(t, 4)
	if problem() != "it answers 503 Service Unavailable" {
		t.Error(problem())
	}
	r.answers(func() int { return 204 })
	h.after <- time.Time{}
	r.got(t, 1)
	enginetest.Eventually(t, "it is well", func() bool { return problem() == "" })
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tries) != 5 || len(slices.Compact(slices.Clone(r.tries))) != 1 || r.forged != 0 {
		t.Errorf("%q, %d forged", r.tries, r.forged)
	}
	if h.pauses[0] != firstPause || h.pauses[1] != 2*firstPause {
		t.Errorf("%v", h.pauses)
	}
}

func TestRefusedMessageDelaysNoOther(t *testing.T) {
	r := newReceiver(t)
	r.answers(func() int { return 400 })
	h := hooked(t, r)
	h.send("one")
	enginetest.Eventually(t, "it is given up", func() bool { v, _ := h.Webhook("a"); return v.Lost == 1 && v.Waiting == 0 })
	r.answers(func() int { return 200 })
	h.send("two")
	if posts := r.got(t, 1); posts[0].Summary != "two" || !h.log.Has("refused by a webhook") {
		t.Errorf("%+v", posts)
	}
}

func TestMessagesOutliveTheProcessButNotTheirWebhook(t *testing.T) {
	r := newReceiver(t)
	r.answers(func() int { return 500 })
	h := hooked(t, r)
	h.send("one")
	enginetest.Eventually(t, "it was tried", func() bool { v, _ := h.Webhook("a"); return v.Problem != "" })
	h.Close()
	kept := h.papers.docs[waitingName+".a"]
	if !strings.Contains(kept, `"summary":"one"`) || strings.Contains(kept, hookSecret) {
		t.Errorf("kept: %s", kept)
	}
	r.answers(func() int { return 200 })
	h.Manager = h.managerWith(func(o *Options) { o.Authorities = authoritiesOf([]*receiver{r}) })
	if posts := r.got(t, 1); len(posts) != 1 || posts[0].Summary != "one" {
		t.Errorf("%+v", posts)
	}
	r.answers(func() int { return 500 })
	h.send("two")
	enginetest.Eventually(t, "it was tried", func() bool { v, _ := h.Webhook("a"); return v.Problem != "" })
	if err := h.RemoveWebhook(root, "a", nothing); err != nil {
		t.Fatal(err)
	}
	if _, is := h.papers.docs[waitingName+".a"]; is || len(h.Webhooks()) != 0 {
		t.Errorf("%q is kept", h.papers.docs[waitingName+".a"])
	}
}

func TestSecretsOfWebhooksAreSealedForTheirWebhook(t *testing.T) {
	r := newReceiver(t)
	h := hooked(t, r)
	if doc := h.papers.docs[settingsName]; strings.Contains(doc, hookSecret) {
		t.Errorf("kept as %s", doc)
	}
	if v, _ := h.Webhook("a"); v.Secret != nil || len(v.Sealed) == 0 {
		t.Errorf("%+v", v)
	}
	if err := h.ChangeWebhook(root, "a", func(w *Webhook) error { w.URL = r.URL + "/other"; return nil }, nothing); err != nil {
		t.Fatal(err)
	}
	if said, err := h.TestWebhook(t.Context(), "a"); err != nil || said != "200 OK" {
		t.Fatal(said, err)
	}
	if p := r.got(t, 1)[0]; p.Events[0].Kind != "test" || p.Summary != p.Events[0].Text || r.forged != 0 {
		t.Errorf("%+v, %d forged", p, r.forged)
	}
	other := h.papers.docs[settingsName]
	h.papers.docs[settingsName] = strings.ReplaceAll(other, `"name":"a"`, `"name":"b"`)
	m := h.managerWith(func(o *Options) { o.Authorities = authoritiesOf([]*receiver{r}) })
	defer m.Close()
	if _, err := m.receiver("b"); err == nil || !strings.Contains(err.Error(), "set it again") {
		t.Errorf("the secret of another webhook is accepted: %v", err)
	}
	if strings.Contains(h.log.String(), hookSecret) {
		t.Error("it is in the log")
	}
}

func TestWebhookTestExplainsFailures(t *testing.T) {
	r := newReceiver(t)
	r.answers(func() int { return 404 })
	h := hooked(t, r)
	if _, err := h.TestWebhook(t.Context(), "a"); err == nil || err.(*Error).Kind != Unreachable || !strings.Contains(err.Error(), "it answers 404 Not Found") {
		t.Error(err)
	}
	if _, err := h.TestWebhook(t.Context(), "b"); err == nil || err.(*Error).Kind != Missing {
		t.Error(err)
	}
	if len(h.log.Lines("do not leave")) != 0 {
		t.Error("a test is no message")
	}
}

func TestWebhookGetsItsKindsAndSeverities(t *testing.T) {
	r := newReceiver(t)
	h := hooked(t, r)
	choose := func(edit func(*Webhook)) {
		t.Helper()
		if err := h.ChangeWebhook(root, "a", func(w *Webhook) error { edit(w); return nil }, nothing); err != nil {
			t.Fatal(err)
		}
	}
	all := func() {
		now := h.options.Now()
		h.tell(hapless(event.BackendUp, event.Info, "up", now), now)
		h.tell(hapless(event.BackendDown, event.Warning, "down", now), now)
		h.tell(hapless(event.Certificate, event.Error, "cert", now), now)
		h.pass(GatherTime)
		h.sendDigests(h.options.Now())
	}
	want := func(n int, want string) {
		t.Helper()
		all()
		var got []string
		for _, e := range r.got(t, n)[n-1].Events {
			got = append(got, e.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	want(1, "up down cert")
	choose(func(w *Webhook) { w.Severity = event.Warning })
	want(2, "down cert")
	choose(func(w *Webhook) { w.Kinds = []event.Kind{event.BackendUp, event.Certificate} })
	want(3, "cert")
	choose(func(w *Webhook) { w.Off = true })
	all()
	choose(func(w *Webhook) { w.Off = false })
	want(4, "cert")
}

func TestWebhooksGetCertificateEvents(t *testing.T) {
	r := newReceiver(t)
	h := hooked(t, r)
	var told []event.Event
	h.options.Tell = func(e event.Event) { told = append(told, e) }
	list := []Certificate{{Name: "shop.pem", Serial: "1", NotAfter: h.now.Add(30 * time.Hour)}, {Name: "activation certificate", Serial: "2", NotAfter: h.now, Activation: true}}
	for range 5 {
		h.LookCertificates(func() []Certificate { return list })
		h.pass(lookTime)
	}
	posts := r.got(t, 1)
	if e := posts[0].Events; len(posts) != 1 || len(e) != 2 || posts[0].Severity != event.Error || e[0].Kind != event.Activation || e[0].Severity != event.Error || e[1].Kind != event.Certificate || e[1].Text != "the certificate shop.pem expires in 1 day" {
		t.Errorf("%+v", posts)
	}
	if len(told) != 2 || told[1].Kind != event.Certificate || told[1].Facts[0] != "SLUICE_CERTIFICATE=shop.pem" {
		t.Errorf("%+v", told)
	}
	h.set(t) // a mail server configured later gets reports of persistent states
	h.LookCertificates(func() []Certificate { return list })
	if mails := h.took(t); len(mails) != 1 || mails[0].Subject != "lb1: 2 certificates are about to expire or have expired" {
		t.Errorf("%+v", mails)
	}
}

func TestWebhooksAreChecked(t *testing.T) {
	h := newHouse(t)
	good := Webhook{Name: "ops", URL: "https://hooks.example.com/", Secret: text(hookSecret)}
	for want, edit := range map[string]func(*Webhook){
		"name: a to z":                     func(w *Webhook) { w.Name = "../x" },
		`32 at most, got ""`:               func(w *Webhook) { w.Name = "" },
		"digits and - are allowed, 32":     func(w *Webhook) { w.Name = strings.Repeat("x", 33) },
		"url: ":                            func(w *Webhook) { w.URL = "hooks" },
		"secret is required":               func(w *Webhook) { w.Secret = nil },
		"secret: 16 to 255":                func(w *Webhook) { w.Secret = text(hookSecret[1:]) },
		"16 to 255 printable":              func(w *Webhook) { w.Secret = text(hookSecret + "\n") },
		"printable ASCII characters are n": func(w *Webhook) { w.Secret = text(strings.Repeat("x", 256)) },
		"ca: there is no list other":       func(w *Webhook) { w.CA = "other" },
		`kinds: "weather" is no kind`:      func(w *Webhook) { w.Kinds = []event.Kind{"weather"} },
		"backend-up is given twice":        func(w *Webhook) { w.Kinds = []event.Kind{event.BackendUp, event.BackendUp} },
		`severity: "bad" is none: there`:   func(w *Webhook) { w.Severity = "bad" },
	} {
		w := good
		edit(&w)
		err := h.AddWebhook(root, w, nothing)
		if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hookSecret) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if len(h.Webhooks()) != 0 || h.papers.docs[settingsName] != "" {
		t.Error("something was kept")
	}
	for i := range MaxWebhooks {
		w := good
		w.Name += string(rune('0' + i))
		if err := h.AddWebhook(root, w, nothing); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.AddWebhook(root, good, nothing); err == nil || !strings.Contains(err.Error(), "at most 8") {
		t.Error(err)
	}
	good.Name = "ops0"
	if err := h.AddWebhook(root, good, nothing); err == nil || err.(*Error).Kind != Already {
		t.Error(err)
	}
	for _, err := range []error{h.ChangeWebhook(root, "none", nil, nothing), h.RemoveWebhook(root, "none", nothing)} {
		if err == nil || err.(*Error).Kind != Missing {
			t.Error(err)
		}
	}
	if tried := errors.New("only tried"); !errors.Is(h.RemoveWebhook(root, "ops0", func() error { return tried }), tried) || len(h.Webhooks()) != MaxWebhooks {
		t.Error("a dry run removed the webhook")
	}
}

func TestAWebhookIsVerifiedByItsList(t *testing.T) {
	var roots *x509.CertPool
	h := newHouse(t)
	h.Manager.options.Post = func(_ context.Context, r webhook.Receiver, _ webhook.Message) (string, error) {
		roots = r.Roots
		return "200 OK", nil
	}
	w := Webhook{Name: "ops", URL: "https://hooks.example.com/", Secret: text(hookSecret), CA: "private"}
	if err := h.AddWebhook(root, w, nothing); err != nil {
		t.Fatal(err)
	}
	if _, err := h.TestWebhook(t.Context(), "ops"); err != nil || roots == nil {
		t.Errorf("%v, %v", err, roots)
	}
}

func TestWebhooksGetAllEventsAndMailsTheContracts(t *testing.T) {
	r := newReceiver(t)
	h := hooked(t, r)
	h.set(t)
	for _, e := range []event.Event{
		{Kind: event.FarmStop, Severity: event.Info, Facts: event.Facts("FARM", "shop")}, {Kind: event.EngineRestart, Severity: event.Warning, At: time.Unix(1, 0)},
		{Kind: event.BackendDown, Severity: event.Warning}, {Kind: event.Certificate, Severity: event.Error}, // detected here
	} {
		h.Hear(e)
	}
	h.pass(GatherTime)
	h.sendDigests(h.options.Now())
	p := r.got(t, 1)[0]
	if len(p.Events) != 2 || p.Summary != "1 farm stops, 1 restart of the engine" || p.Severity != event.Warning || p.Events[0].Farm != "shop" || p.Events[0].Text != "farm shop is stopped" || p.Events[0].Time.IsZero() || !p.Events[1].Time.Equal(time.Unix(1, 0)) {
		t.Errorf("%+v", p)
	}
	if mails := h.took(t); len(mails) != 0 {
		t.Errorf("%+v", mails)
	}
}
