package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// writer changes a text of a farm again and again until it is stopped or its
// connection breaks.
type writer struct {
	acknowledged, sent int
	failure            string // an answer that is neither yes nor "try again"
}

// write numbers the changes from the given one on.
func (a *appliance) write(key string, from int, stop <-chan struct{}) <-chan writer {
	out := make(chan writer, 1)
	go func() {
		w := writer{acknowledged: from - 1, sent: from - 1}
		defer func() { out <- w }()
		for {
			select {
			case <-stop: // it was not at work when mgmt was killed, or the next mgmt took the request
				return
			default:
			}
			w.sent++
			body, _ := json.Marshal(map[string]string{"error503": fmt.Sprintf("text %d", w.sent)})
			r, _ := http.NewRequest(http.MethodPut, "https://"+a.api+"/api/v4.0/farms/shop", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("ZAPI_KEY", key)
			resp, err := insecure.Do(r)
			if err != nil {
				return // killed before it answered
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			switch {
			case resp.StatusCode == http.StatusOK && err == nil:
				w.acknowledged = w.sent
			case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusServiceUnavailable:
				return
			default:
				w.failure = fmt.Sprintf("%d %s", resp.StatusCode, text)
				return
			}
		}
	}()
	return out
}

// text is the one the API tells.
func (a *appliance) text(key string) (string, error) {
	code, answer := a.rest(key, http.MethodGet, "/farms/shop", nil)
	var view struct{ Params struct{ Error503 string } }
	if err := json.Unmarshal([]byte(answer), &view); err != nil || code != http.StatusOK {
		return "", fmt.Errorf("%d %s", code, answer)
	}
	return view.Params.Error503, nil
}

func TestNoKillOfMgmtLosesAnAcknowledgedChange(t *testing.T) {
	who := asOne()
	data := dataDir(t, who)
	a := start(t, who, data)
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	a.must("farm", "create", "shop", "vip=127.0.0.1", "vport="+strings.TrimPrefix(addr, "127.0.0.1:"))
	a.must("service", "create", "shop", "all") // without a backend: it answers 503 and the text
	key := a.key()
	next, changes, last := 1, 0, ""
	const lives = 4 // of the instance; in each mgmt is killed five times
	for life := range lives {
		for kill := range 5 {
			stop := make(chan struct{})
			done := a.write(key, next, stop)
			time.Sleep(time.Duration(50+rand.IntN(150)) * time.Millisecond)
			a.kill("mgmt")
			close(stop)
			w := <-done
			if w.failure != "" {
				t.Fatalf("a change was refused: %s", w.failure)
			}
			var now string
			within(t, 2*time.Second, "the API answers again", func() (err error) { now, err = a.text(key); return err })
			kept := last // what must be there at least
			if w.acknowledged >= next {
				kept = fmt.Sprintf("text %d", w.acknowledged)
			}
			if underWay := fmt.Sprintf("text %d", w.sent); now != kept && now != underWay {
				t.Fatalf("life %d, kill %d: the API tells %q, acknowledged was %q, under way %q", life, kill, now, kept, underWay)
			}
			within(t, 2*time.Second, "the engine answers the same", func() error { return answersWith(addr, now) })
			if document := a.must("export"); !strings.Contains(document, now) {
				t.Fatalf("the API tells %q, the document is\n%s", now, document)
			}
			last = now
			changes, next = changes+w.acknowledged-next+1, w.sent+1
		}
		// What the store holds is seen by who opens it anew.
		now, err := a.text(key)
		if err != nil {
			t.Fatal(err)
		}
		if life%2 == 0 {
			_ = a.cmd.Process.Kill()
			<-a.done
			a.done <- nil
		} else if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		a = start(t, who, data)
		if again, err := a.text(key); err != nil || again != now {
			t.Fatalf("life %d: the API told %q, and %q (%v) after a new start", life, now, again, err)
		}
		within(t, 2*time.Second, "the engine answers the same", func() error { return answersWith(addr, now) })
	}
	if changes < 20 {
		t.Errorf("only %d changes were acknowledged between the kills", changes)
	}
	t.Logf("%d changes were acknowledged between %d kills", changes, 5*lives)
}

// answersWith reports whether a farm without backends says that text.
func answersWith(addr, text string) error {
	resp, err := insecure.Get("http://" + addr + "/")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && text != "" && strings.TrimSpace(string(b)) != text {
		err = fmt.Errorf("it answers %s with %q, not %q", resp.Status, b, text)
	}
	return err
}
