package rest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// counter is a document whose revision is its value.
type counter struct {
	value atomic.Int64
	doc   *Document
}

func newCounter() *counter {
	c := &counter{}
	c.doc = NewDocument("the counts", func() string { return "n" + strconv.FormatInt(c.value.Load(), 10) })
	return c
}

// send reads or changes the document through do, with an If-Match.
func (n *counter) send(method, match string, body io.Reader, handler func(*Call) (int64, error)) (string, error) {
	c := &Call{op: (&Operation{Method: method}).Of(n.doc), Request: httptest.NewRequest(method, "/", body)}
	if match != "" {
		c.Request.Header.Set("If-Match", match)
	}
	_, err := do(c, handler)
	return c.etag, err
}

// Of concurrent changes based on the same revision, exactly one succeeds.
func TestNoUpdateOfADocumentIsLost(t *testing.T) {
	n := newCounter()
	var done, refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				var read int64
				tag, _ := n.send("GET", "", nil, func(*Call) (int64, error) { read = n.value.Load(); return 0, nil })
				_, err := n.send("PUT", tag, nil, func(*Call) (int64, error) {
					if n.doc.turn.TryLock() {
						t.Error("two may change it at the same time")
					}
					n.value.Store(read + 1)
					return 0, nil
				})
				if err == nil {
					done.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n.value.Load() != done.Load() || done.Load()+refused.Load() != 400 {
		t.Errorf("%d changes succeeded, the value is %d, %d were refused", done.Load(), n.value.Load(), refused.Load())
	}
}

func TestAChangeNeedsTheRevisionItWasMadeFrom(t *testing.T) {
	add := func(n *counter) func(*Call) (int64, error) {
		return func(*Call) (int64, error) { return n.value.Add(1), nil }
	}
	for match, want := range map[string]int{"": 0, "*": 0, `"n0"`: 0, "n0": 0, ` "n0" `: 0, `"n1"`: 412, "n1": 412, "0": 412, `W/"n0"`: 412, `"n1", "n0"`: 0, `"n1","n2"`: 412,
		`W/"n0", "n1"`: 412, `W/"n1", "n0"`: 0, "n0 n1": 412, `"n0" "n1"`: 412, `"n0`: 412, `"n1", n0`: 412, `"n1", , "n0"`: 0, `W/n0, "n1"`: 412, `"n0",`: 0, `xn0"`: 412, `"n1", W/`: 412, "W/": 412} {
		n := newCounter()
		tag, err := n.send("PUT", match, nil, add(n))
		var r *Rejection
		switch {
		case want == 0 && (err != nil || tag != `"n1"` || n.value.Load() != 1):
			t.Errorf("%q: %v, then %s", match, err, tag)
		case want != 0 && (!errors.As(err, &r) || r.Status != want || n.value.Load() != 0):
			t.Errorf("%q: %v", match, err)
		}
	}
	n := newCounter()
	if tag, err := n.send("GET", `"n7"`, nil, add(n)); err != nil || tag != `"n0"` {
		t.Errorf("reading: %s %v, want the revision before the answer was made", tag, err)
	}
}

// slow is a body that signals when it is read and then blocks until released.
type slow struct {
	began, may chan struct{}
	text       io.Reader
	once       sync.Once
}

func (s *slow) Read(b []byte) (int, error) {
	s.once.Do(func() { close(s.began); <-s.may })
	return s.text.Read(b)
}

func TestNobodyWaitsForASlowBody(t *testing.T) {
	n := newCounter()
	body := &slow{began: make(chan struct{}), may: make(chan struct{}), text: strings.NewReader(`{"a":1}`)}
	got := make(chan map[string]any)
	go func() {
		_, _ = n.send("PUT", "", body, func(c *Call) (int64, error) {
			read, err := c.ReadObject()
			got <- read
			return 0, err
		})
	}()
	<-body.began
	if !n.doc.turn.TryLock() {
		t.Fatal("a request that still waits for its body holds the turn")
	}
	n.doc.turn.Unlock()
	close(body.may)
	if read := <-got; read["a"] == nil {
		t.Errorf("the body is %v", read)
	}
}

// Verifying credentials may take long. A change that does so has the turn for the change alone.
func TestNobodyWaitsForSlowCredentials(t *testing.T) {
	n := newCounter()
	send := func(match string, verify func()) (tag string, err error) {
		op := (&Operation{Method: "POST"}).Of(n.doc).Verifies()
		c := &Call{op: op, Request: httptest.NewRequest("POST", "/", nil)}
		c.Request.Header.Set("If-Match", match)
		_, err = do(c, func(c *Call) (int64, error) {
			verify()
			return 0, c.Turn(func() error {
				if n.doc.turn.TryLock() {
					t.Error("the change does not have the turn")
				}
				n.value.Add(1)
				return nil
			})
		})
		return c.etag, err
	}
	free := func() {
		if !n.doc.turn.TryLock() {
			t.Fatal("a request that verifies holds the turn")
		}
		n.doc.turn.Unlock()
	}
	if tag, err := send(`"n0"`, free); err != nil || tag != `"n1"` {
		t.Errorf("%v, then %s", err, tag)
	}
	var r *Rejection
	late := func() { n.value.Add(1) }
	if _, err := send(`"n1"`, late); !errors.As(err, &r) || r.Status != 412 || n.value.Load() != 2 {
		t.Errorf("changed while it verified: %v, the value is %d", err, n.value.Load())
	}
	never := func() { t.Error("credentials of an outdated request are verified") }
	if _, err := send(`"n1"`, never); !errors.As(err, &r) || r.Status != 412 {
		t.Errorf("outdated: %v", err)
	}
}

// A change that completes one outside of the document is made whatever the document has become.
func TestAChangeIsCompletedAfterOthers(t *testing.T) {
	n := newCounter()
	c := &Call{op: (&Operation{Method: "POST"}).Of(n.doc).Verifies(), Request: httptest.NewRequest("POST", "/", nil)}
	c.Request.Header.Set("If-Match", `"n0"`)
	_, err := do(c, func(c *Call) (int64, error) {
		n.value.Add(1)
		return 0, c.Finish(func() error {
			if n.doc.turn.TryLock() {
				t.Error("the change does not have the turn")
			}
			n.value.Add(1)
			return nil
		})
	})
	if err != nil || c.etag != `"n2"` {
		t.Errorf("%v, then %s", err, c.etag)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestBodiesOfDocumentsHaveTheirBounds(t *testing.T) {
	for want, body := range map[int]io.Reader{
		http.StatusRequestEntityTooLarge: io.MultiReader(strings.NewReader(`{"a":"`+strings.Repeat("x", maxBody)), strings.NewReader(`"}`)),
		http.StatusBadRequest:            broken{},
	} {
		_, err := newCounter().send("PUT", "", body, func(c *Call) (int64, error) { _, err := c.ReadObject(); return 0, err })
		var r *Rejection
		if !errors.As(err, &r) || r.Status != want {
			t.Errorf("%v, want %d", err, want)
		}
	}
}

func TestADigestIsThatOfAValue(t *testing.T) {
	if a, b := Digest([]int{1}), Digest([]int{2}); a == b || a != Digest([]int{1}) || len(a) != 16 {
		t.Errorf("%s and %s", a, b)
	}
}
