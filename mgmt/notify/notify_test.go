package notify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/mgmt/notify/mail"
)

func TestPasswordsAreSealedAndStayUntilTheyAreReplaced(t *testing.T) {
	h := newHouse(t)
	text := func(s string) *string { return &s }
	h.set(t, func(s *Settings) {
		s.Email.Server = "mail.example.com:2525"
		s.Email.User, s.Email.Password, s.Email.TLS, s.Email.CA = "ann", text("secret"), true, "private"
	})
	if doc := h.papers.docs[settingsName]; strings.Contains(doc, "secret") || !h.Settings().Email.HasPassword() {
		t.Errorf("kept as %s", doc)
	}
	h.Manager = h.manager() // after a restart
	defer h.Close()
	h.set(t, func(s *Settings) { s.Email.Server = "mail.example.com:2525"; s.Email.From = "other@example.com" })
	if _, err := h.Test(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.server; s.Host != "mail.example.com" || s.Port != 2525 || s.User != "ann" || s.Password != "secret" || !s.Secure || s.Roots == nil {
		t.Errorf("%+v", s)
	}
	h.set(t, func(s *Settings) { s.Email.Password, s.Email.User = text(""), "" })
	if h.Settings().Email.HasPassword() {
		t.Error("it is not forgotten")
	}
	if strings.Contains(h.log.String(), "secret") {
		t.Error("it is in the log")
	}
}

func TestSettingsAreChecked(t *testing.T) {
	long := strings.Repeat("x", 300)
	seconds := func(n int) *int { return &n }
	for want, edit := range map[string]func(*Settings){
		"server: ":                          func(s *Settings) { s.Email.Server = "mail example.com" },
		`"mail.example.com:0" has no port`:  func(s *Settings) { s.Email.Server = "mail.example.com:0" },
		"x:70000":                           func(s *Settings) { s.Email.Server = "x:70000" },
		"is no address, host name":          func(s *Settings) { s.Email.Server = "-x.example" },
		"no address, host name or":          func(s *Settings) { s.Email.Server = "fe80::1%eth0" },
		"from: ":                            func(s *Settings) { s.Email.From = "lb@x\r\nBcc: y@z" },
		"from is required":                  func(s *Settings) { s.Email.From = "" },
		"to is required":                    func(s *Settings) { s.Email.To = nil },
		"to: ":                              func(s *Settings) { s.Email.To = []string{"nobody"} },
		"given twice":                       func(s *Settings) { s.Email.To = []string{"a@b", "a@b"} },
		"at most 16 addresses":              func(s *Settings) { s.Email.To = make([]string, 17) },
		"user: ":                            func(s *Settings) { s.Email.User = "a\nb" },
		"password: ":                        func(s *Settings) { s.Email.User, s.Email.Password = "a", &long },
		"user is required":                  func(s *Settings) { pw := "x"; s.Email.Password = &pw },
		"ca: there is no list other":        func(s *Settings) { s.Email.CA = "other" },
		"prefix: letters":                   func(s *Settings) { s.Backends.Prefix = "x\nBcc: y" },
		"prefix: letters, digits":           func(s *Settings) { s.ClusterPrefix = strings.Repeat("x", 65) },
		"avoidflappingtime: a number":       func(s *Settings) { s.Backends.AvoidFlapping = seconds(-1) },
		"0 to 3600 is allowed, got 3601":    func(s *Settings) { s.Backends.AvoidFlapping = seconds(3601) },
		"interfaces: at most":               func(s *Settings) { s.Interfaces = make([]string, 65) },
		`interfaces: "eth 0" is no name`:    func(s *Settings) { s.Interfaces = []string{"eth 0"} },
		`interfaces: "" is no name`:         func(s *Settings) { s.Interfaces = []string{""} },
		`interfaces: "-eth0" is no name of`: func(s *Settings) { s.Interfaces = []string{"-eth0"} },
	} {
		h := newHouse(t)
		h.set(t)
		before := h.papers.docs[settingsName]
		err := h.Change(root, "test", func(s *Settings) error { edit(s); return nil }, nothing)
		if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if h.papers.docs[settingsName] != before {
			t.Errorf("%s: it was kept", want)
		}
	}
	h := newHouse(t)
	h.set(t, func(s *Settings) {
		s.Email.Server, s.Interfaces, s.Backends, s.ClusterPrefix = "[2001:db8::1]:25", []string{"eth0.7:x"}, BackendAlert{"[lb 1] (x)_-", seconds(3600)}, strings.Repeat("x", 64)
		s.Email.To = []string{"a@b", "c@d"}
	})
	if s, _, err := h.Manager.server(); err != nil || s.Host != "2001:db8::1" || s.Port != 25 {
		t.Errorf("%+v, %v", s, err)
	}
	for server, want := range map[string]string{"mail": "mail 587", "2001:db8::1": "2001:db8::1 587", "mail:465": "mail 465", "10.0.0.1:1": "10.0.0.1 1"} {
		if host, port, err := splitServer(server, true); err != nil || fmt.Sprint(host, " ", port) != want {
			t.Errorf("%s: %s %d, %v", server, host, port, err)
		}
	}
}

func TestDryRunOrFailedStoreChangesNothing(t *testing.T) {
	h := newHouse(t)
	h.set(t)
	before := h.papers.docs[settingsName]
	tried := errors.New("only tried")
	edit := func(s *Settings) error { s.Backends.Prefix = "new"; return nil }
	if err := h.Change(root, "x", edit, func() error { return tried }); !errors.Is(err, tried) {
		t.Error(err)
	}
	h.papers.fail = errors.New("disk full")
	if err := h.Change(root, "x", edit, nothing); !errors.Is(err, h.papers.fail) {
		t.Error(err)
	}
	if h.papers.docs[settingsName] != before || h.Settings().Backends.Prefix != "" {
		t.Error("it is changed")
	}
}

func TestUnreadableSettingsAreReported(t *testing.T) {
	h := newHouse(t)
	h.papers.docs[settingsName] = "{"
	m := h.manager()
	defer m.Close()
	if !strings.Contains(m.Problem(), "set them again") || !h.log.Has("cannot be read") {
		t.Errorf("%q", m.Problem())
	}
	h.Manager = m
	if h.set(t); m.Problem() != "" {
		t.Errorf("%q", m.Problem())
	}
}

func TestTestReturnsTheServersAnswer(t *testing.T) {
	h := newHouse(t)
	if _, err := h.Test(t.Context()); err == nil || err.(*Error).Kind != Unset {
		t.Errorf("without a server: %v", err)
	}
	h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d"} })
	said, err := h.Test(t.Context())
	if err != nil || said != "2.0.0 taken" || h.took(t)[0].Subject != "lb1: test of notifications" {
		t.Errorf("%q, %v", said, err)
	}
	h.answers(func(m mail.Message) []*mail.Failure {
		return []*mail.Failure{{To: "c@d", Err: errors.New("550 no such user")}}
	})
	if _, err := h.Test(t.Context()); err == nil || err.Error() != "1 of 2 mails were not taken by mail.example.com:25: c@d: 550 no such user" || err.(*Error).Kind != Unreachable {
		t.Errorf("%v", err)
	}
}

func TestAlertsAreSwitchedOnce(t *testing.T) {
	h := newHouse(t)
	for _, a := range h.Alerts() {
		if !a.Enabled || a.Description == "" || a.Active != (len(a.Kinds) > 0) {
			t.Errorf("%+v", a)
		}
	}
	for _, on := range []bool{false, true} {
		if err := h.Enable(root, Cluster, on, nothing); err != nil {
			t.Fatal(err)
		}
		if err := h.Enable(root, Cluster, on, nothing); err == nil || err.(*Error).Kind != Already {
			t.Errorf("again: %v", err)
		}
		if a, err := h.Alert(Cluster); err != nil || a.Enabled != on {
			t.Errorf("%+v, %v", a, err)
		}
	}
	if err := h.Enable(root, "weather", true, nothing); err == nil || err.(*Error).Kind != Missing {
		t.Errorf("%v", err)
	}
}

func refusedMail(to string, final bool) []*mail.Failure {
	return []*mail.Failure{{To: to, Final: final, Err: errors.New("because")}}
}

func TestMailsWaitForAnUnreachableServer(t *testing.T) {
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d"} })
	h.answers(func(m mail.Message) []*mail.Failure {
		if len(m.To) == 2 || m.Subject == "one" {
			return refusedMail("c@d", false)
		}
		return nil
	})
	h.enqueue("one", "text")
	h.enqueue("two", "text")
	for i := range 7 {
		h.after <- time.Time{}
		if i == 3 && (h.Problem() != "c@d: because" || h.Delivery() != Delivery{Waiting: 2}) {
			t.Errorf("%q, %+v", h.Problem(), h.Delivery())
		}
	}
	h.paused(t, 8) // the last of these attempts has ended
	h.answers(nil)
	h.after <- time.Time{}
	mails := h.took(t)
	if got := mailLines(mails); got != "two to a@b, one to c@d, two to c@d" {
		t.Error(got)
	}
	if h.Problem() != "" || h.Delivery() != (Delivery{Sent: 2}) {
		t.Errorf("%q, %+v", h.Problem(), h.Delivery())
	}
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 2 * time.Minute, 2 * time.Minute, 2 * time.Minute, 2 * time.Minute, 2 * time.Minute}
	if fmt.Sprint(h.pauses) != fmt.Sprint(want) {
		t.Errorf("pauses %v", h.pauses)
	}
	if n := len(h.log.Lines("do not leave")); n != 1 || !h.log.Has("leave again") {
		t.Errorf("log: %s", &h.log)
	}
}

// mailLines lists mails with their recipients.
func mailLines(mails []mail.Message) string {
	var out []string
	for _, m := range mails {
		out = append(out, m.Subject+" to "+strings.Join(m.To, " "))
	}
	return strings.Join(out, ", ")
}

// fullMailbox defers mails for a recipient. The others get theirs.
func (h *house) fullMailbox(full string) {
	h.answers(func(m mail.Message) []*mail.Failure {
		if !slices.Contains(m.To, full) {
			return nil
		}
		if others := slices.DeleteFunc(slices.Clone(m.To), func(to string) bool { return to == full }); len(others) > 0 {
			m.To = others
			h.mails = append(h.mails, m)
		}
		return refusedMail(full, false)
	})
}

func (h *house) accepted() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return mailLines(h.mails)
}

func TestAFullMailboxDelaysOnlyItsOwnMails(t *testing.T) {
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d", "e@f"} })
	h.fullMailbox("c@d")
	h.enqueue("one", "text")
	h.paused(t, 1)
	h.enqueue("two", "text") // during the pause
	enginetest.Eventually(t, "the others get it", func() bool { return strings.Contains(h.accepted(), "two") })
	h.after <- time.Time{}
	h.paused(t, 2)
	h.enqueue("three", "text")
	const others = "one to a@b e@f, two to a@b e@f, three to a@b e@f"
	enginetest.Eventually(t, "the others get all", func() bool { return h.accepted() == others })
	if h.Problem() != "c@d: because" || h.Delivery() != (Delivery{Waiting: 3}) {
		t.Errorf("%q, %+v", h.Problem(), h.Delivery())
	}
	h.answers(nil)
	h.after <- time.Time{}
	if got := mailLines(h.took(t)); got != others+", one to c@d, two to c@d, three to c@d" {
		t.Errorf("in the end: %s", got)
	}
	if h.Problem() != "" || h.Delivery() != (Delivery{Sent: 3}) || !h.log.Has("leave again") {
		t.Errorf("%q, %+v", h.Problem(), h.Delivery())
	}
}

func TestMailsOfARemovedRecipientAreDropped(t *testing.T) {
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d"} })
	h.fullMailbox("c@d")
	h.enqueue("one", "text")
	h.enqueue("two", "text")
	enginetest.Eventually(t, "the other gets both", func() bool { return h.accepted() == "one to a@b, two to a@b" })
	h.set(t, func(s *Settings) { s.Email.To = []string{"a@b"} })
	if got := mailLines(h.took(t)); got != "one to a@b, two to a@b" || h.Problem() != "" || h.Delivery().Lost != 0 {
		t.Errorf("%s, %q, %+v", got, h.Problem(), h.Delivery())
	}
}

// The other recipients get the last mail before a stop, however often the full mailbox failed.
func TestAFullMailboxDoesNotDelayTheLastMail(t *testing.T) {
	for retries := range 3 {
		for _, restart := range []bool{false, true} {
			h := newHouse(t)
			h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d"} })
			h.fullMailbox("c@d")
			h.enqueue("one", "text")
			h.paused(t, 1)
			if restart { // only the full mailbox is tried in the new process
				h.Close()
				h.Manager = h.manager()
				h.paused(t, 2)
			}
			for range retries {
				h.mu.Lock()
				n := len(h.pauses)
				h.mu.Unlock()
				h.after <- time.Time{}
				h.paused(t, n+1)
			}
			h.enqueue("last", "text")
			began := time.Now()
			if h.Close(); time.Since(began) >= lastTime {
				t.Errorf("%d retries: the end waits for the full mailbox", retries)
			}
			if got := h.accepted(); got != "one to a@b, last to a@b" {
				t.Errorf("%d retries, restart %t: got %s, want %s", retries, restart, got, "one to a@b, last to a@b")
			}
		}
	}
}

// Each recipient has pauses of its own: one that just failed does not wait for another one
// that has failed for long.
func TestEachRecipientHasItsOwnPauses(t *testing.T) {
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d"} })
	h.fullMailbox("c@d")
	h.enqueue("one", "text")
	for i := range 3 {
		h.paused(t, i+1)
		h.after <- time.Time{}
	}
	h.paused(t, 4)
	var tried []string
	h.answers(func(m mail.Message) []*mail.Failure {
		tried = append(tried, mailLines([]mail.Message{m}))
		return refusedMail(m.To[0], false)
	})
	h.enqueue("two", "text")
	h.paused(t, 5) // of a@b, shorter than the rest of the other pause
	h.after <- time.Time{}
	h.paused(t, 6)
	h.answers(nil)
	h.after <- time.Time{}
	h.paused(t, 7)
	if got := h.accepted(); got != "one to a@b, two to a@b" {
		t.Errorf("accepted: got %s, want %s", got, "one to a@b, two to a@b")
	}
	h.mu.Lock()
	if got := strings.Join(tried, ", "); got != "two to a@b, two to a@b" {
		t.Errorf("tried: got %s, want %s", got, "two to a@b, two to a@b")
	}
	if fmt.Sprint(h.pauses) != "[30s 1m0s 2m0s 2m0s 30s 1m0s 2m0s]" {
		t.Errorf("pauses %v", h.pauses)
	}
	h.mu.Unlock()
	h.after <- time.Time{}
	if got := mailLines(h.took(t)); got != "one to a@b, two to a@b, one to c@d, two to c@d" {
		t.Errorf("in the end: got %s, want %s", got, "one to a@b, two to a@b, one to c@d, two to c@d")
	}
}

// A mail counts as sent if some recipient has received it, even if others never do.
func TestAMailThatSomeReceivedCountsAsSent(t *testing.T) {
	for name, end := range map[string]func(*house){
		"removed":   func(h *house) { h.set(t, func(s *Settings) { s.Email.To = []string{"a@b"} }) },
		"no server": func(h *house) { h.set(t, func(s *Settings) { s.Email.Server = "" }) },
		"a day": func(h *house) {
			h.pass(keepTime)
			h.after <- time.Time{}
		},
		"refused": func(h *house) {
			h.answers(func(mail.Message) []*mail.Failure { return refusedMail("c@d", true) })
			h.after <- time.Time{}
		},
		"restart and a day": func(h *house) {
			h.Close()
			h.pass(keepTime)
			h.Manager = h.manager()
		},
	} {
		h := newHouse(t)
		h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d"} })
		h.fullMailbox("c@d")
		h.enqueue("one", "text")
		h.paused(t, 1)
		end(h)
		h.took(t)
		enginetest.Eventually(t, name+": the mail is counted", func() bool { return h.Delivery() == Delivery{Sent: 1} })
	}
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d"} })
	h.fullMailbox("c@d")
	for i := range maxWaiting {
		h.enqueue(fmt.Sprint(i), "text")
	}
	enginetest.Eventually(t, "the other gets all", func() bool {
		return strings.Count(h.accepted(), "a@b") == maxWaiting
	})
	h.paused(t, 1)
	for range 3 {
		h.enqueue("more", "text")
	}
	if d := h.Delivery(); d != (Delivery{Sent: 3, Waiting: maxWaiting}) || len(h.log.Lines("are dropped")) != 1 {
		t.Errorf("too many: %+v\n%s", d, &h.log)
	}
}

func TestMailExpiresAfterADayOrARefusal(t *testing.T) {
	h := newHouse(t)
	h.set(t)
	h.answers(func(m mail.Message) []*mail.Failure { return refusedMail("ops@example.com", m.Subject == "refused") })
	h.enqueue("old", "text")
	enginetest.Eventually(t, "it was tried", func() bool { return h.Problem() != "" })
	h.pass(keepTime)
	h.after <- time.Time{}
	h.enqueue("refused", "text")
	if h.took(t); h.Delivery().Lost != 2 || !h.log.Has("given up after a day") || !h.log.Has("refused by the mail server") {
		t.Errorf("%+v\n%s", h.Delivery(), &h.log)
	}
}

func TestNewSettingsRetryPendingMails(t *testing.T) {
	h := newHouse(t)
	h.set(t)
	h.answers(func(mail.Message) []*mail.Failure { return refusedMail("ops@example.com", false) })
	h.enqueue("one", "text")
	enginetest.Eventually(t, "it was tried", func() bool { return h.Problem() != "" })
	h.answers(nil)
	h.set(t, func(s *Settings) { s.Email.Server = "other.example.com" })
	if mails := h.took(t); len(mails) != 1 || h.server.Host != "other.example.com" {
		t.Errorf("%+v to %s", mails, h.server.Host)
	}
	h.answers(func(mail.Message) []*mail.Failure { return refusedMail("ops@example.com", false) })
	h.enqueue("two", "text")
	enginetest.Eventually(t, "it was tried", func() bool { return h.Problem() != "" })
	h.set(t, func(s *Settings) { s.Email.Server = "" })
	h.took(t)
}

func TestWaitingMailsAreBounded(t *testing.T) {
	h := newHouse(t)
	h.set(t)
	h.answers(func(mail.Message) []*mail.Failure { return refusedMail("ops@example.com", false) })
	for i := range maxWaiting + 10 {
		h.enqueue(fmt.Sprint(i), "text")
	}
	if d := h.Delivery(); d.Waiting != maxWaiting || d.Lost != 10 || len(h.log.Lines("are dropped")) != 1 {
		t.Errorf("%+v\n%s", d, &h.log)
	}
	h.Close()
	if !h.log.Has("wait for the next start") || h.log.Has("not sent before the end") {
		t.Errorf("log: %s", &h.log)
	}
	h.enqueue("late", "text")
	if h.Delivery().Waiting != maxWaiting {
		t.Error("mails are accepted after the end")
	}
}

func TestMailsThatWaitOutliveTheProcess(t *testing.T) {
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.To = []string{"a@b", "c@d"} })
	h.fullMailbox("c@d")
	h.enqueue("one", "text")
	enginetest.Eventually(t, "it was tried", func() bool { return h.Problem() != "" })
	h.enqueue("two", "more") // arrives during the sender's pause
	kept := func() string {
		h.papers.mu.Lock()
		defer h.papers.mu.Unlock()
		return h.papers.docs[waitingName]
	}
	const rest = `"to":["c@d"]`
	enginetest.Eventually(t, "both are written down", func() bool { return strings.Count(kept(), rest) == 2 })
	if text := kept(); !strings.Contains(text, `"to":["c@d"],"tries":1`) || strings.Contains(text, "example.com") {
		t.Errorf("kept: %s", text)
	}
	before := h.Manager // as if killed: it no longer sends or writes
	h.answers(nil)
	h.Manager = h.manager()
	mails := h.took(t)
	if got := mailLines(mails); got != "one to a@b, two to a@b, one to c@d, two to c@d" || mails[3].Text != "more" {
		t.Error(got)
	}
	if !mails[2].At.Equal(h.now) {
		t.Errorf("of %v", mails[2].At)
	}
	h.Close()
	if text := kept(); text != "[]" {
		t.Errorf("still kept: got %s, want %s", text, "[]")
	}
	before.Close()
}

func TestOldMailsAreDroppedAfterARestart(t *testing.T) {
	h := newHouse(t)
	h.set(t)
	h.answers(func(m mail.Message) []*mail.Failure { return refusedMail("ops@example.com", false) })
	h.enqueue("old", "text")
	enginetest.Eventually(t, "it was tried", func() bool { return h.Problem() != "" })
	h.Close()
	h.pass(keepTime)
	h.Manager = h.manager()
	defer h.Close()
	h.took(t)
	if d := h.Delivery(); d.Lost != 1 || d.Sent != 0 || !h.log.Has("given up after a day") {
		t.Errorf("%+v\n%s", d, &h.log)
	}
}

func TestMailStorageFailureIsLoggedOnce(t *testing.T) {
	h := newHouse(t)
	h.set(t)
	h.answers(func(m mail.Message) []*mail.Failure { return refusedMail("ops@example.com", false) })
	h.papers.fail = errors.New("disk full")
	h.enqueue("one", "text")
	enginetest.Eventually(t, "it was tried", func() bool { return h.Problem() != "" })
	h.Close()
	if n := len(h.log.Lines("a restart loses them")); n != 1 || !h.log.Has("not sent before the end") {
		t.Errorf("logged %d times:\n%s", n, &h.log)
	}
	h.papers.docs[waitingName] = "{"
	h.Manager = h.manager()
	defer h.Close()
	if d := h.Delivery(); d.Waiting != 0 || !h.log.Has("they are lost") {
		t.Errorf("%+v\n%s", d, &h.log)
	}
}

func TestRestoredMailsAreBounded(t *testing.T) {
	h := newHouse(t)
	h.set(t)
	var list []keptMail
	for i := range maxWaiting + 5 {
		list = append(list, keptMail{Subject: fmt.Sprint(i), At: h.now})
	}
	if err := h.papers.WriteDocument(waitingName, list); err != nil {
		t.Fatal(err)
	}
	h.Manager = h.manager()
	defer h.Close()
	if mails := h.took(t); len(mails) != maxWaiting || mails[0].Subject != "5" {
		t.Errorf("%d mails", len(mails))
	}
}

func TestCertificatesAreMailedOncePerThreshold(t *testing.T) {
	h := newHouse(t)
	h.set(t)
	end := h.now.Add(20 * 24 * time.Hour)
	list := []Certificate{
		{Name: "shop.pem", Subject: "www.example.com", Serial: "1", NotAfter: end, UsedBy: []string{"farm shop"}},
		{Name: "other.pem", Serial: "2", NotAfter: end.Add(365 * 24 * time.Hour)},
	}
	look := func(after time.Duration) { h.pass(after); h.LookCertificates(func() []Certificate { return list }) }
	var subjects []string
	for i := range 25 * 24 {
		look(time.Hour)
		if i%48 == 0 { // restarts do not repeat reports
			h.took(t)
			h.Close()
			h.Manager = h.manager()
		}
	}
	for _, m := range h.took(t) {
		subjects = append(subjects, m.Subject)
	}
	want := "lb1: the certificate shop.pem expires in 15 days; lb1: the certificate shop.pem expires in 7 days; lb1: the certificate shop.pem expires in 1 day; lb1: the certificate shop.pem has expired"
	if got := strings.Join(subjects, "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if text := h.took(t)[0].Text; !strings.Contains(text, "2026-12-14 09:00 UTC  the certificate shop.pem expires in 15 days (www.example.com), used by farm shop\n") {
		t.Errorf("%q", text)
	}
	list[0].Serial, list[0].NotAfter = "3", h.now.Add(6*24*time.Hour) // replaced
	list[1].NotAfter = h.now.Add(10 * time.Hour)
	look(time.Hour)
	if mails := h.took(t); len(mails) != 5 || mails[4].Subject != "lb1: 2 certificates are about to expire or have expired" || !strings.HasPrefix(mails[4].Text, "2026-12-19 19:00 UTC  the certificate other.pem expires in less than a day\n2026-12-25") {
		t.Errorf("%d mails, %+v", len(mails), mails[len(mails)-1])
	}
	list = nil
	if look(time.Hour); h.papers.docs[toldName] != "{}" {
		t.Errorf("remembered: got %s, want %s", h.papers.docs[toldName], "{}")
	}
}

func TestCertificatesAreCheckedPeriodically(t *testing.T) {
	h := newHouse(t)
	looks := 0
	look := func(after time.Duration) {
		h.pass(after)
		h.LookCertificates(func() []Certificate { looks++; return nil })
	}
	if look(0); looks != 0 {
		t.Error("certificates were read although mail is not set up")
	}
	h.set(t)
	look(0)
	look(lookTime - 1)
	if looks != 1 {
		t.Errorf("%d looks", looks)
	}
	look(1)
	if look(-time.Hour); looks != 3 { // the clock was set back
		t.Errorf("%d looks", looks)
	}
}
