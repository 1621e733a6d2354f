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

// writer changes a text of a farm repeatedly until it is stopped or its connection breaks.
type writer struct {
	acknowledged, sent int
	failure            string // a response that is neither success nor "try again"
}

// write makes changes numbered from the given one on.
func (a *appliance) write(key string, from int, stop <-chan struct{}) <-chan writer {
	out := make(chan writer, 1)
	go func() {
		w := writer{acknowledged: from - 1, sent: from - 1}
		defer func() { out <- w }()
		for {
			select {
			case <-stop: // idle when mgmt was killed, or the next mgmt got the request
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
				return // killed before the response
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

// text returns the text according to the API.
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
	a.must("service", "create", "shop", "all") // without a backend: it responds 503 with the text
	key := a.key()
	next, changes, last := 1, 0, ""
	const lives = 4 // of the instance; mgmt is killed five times in each
	for life := range lives {
		for kill := range 5 {
			stop := make(chan struct{})
			done := a.write(key, next, stop)
			time.Sleep(time.Duration(50+rand.IntN(150)) * time.Millisecond)
			a.kill("mgmt")
			close(stop)
			w := <-done
			if w.failure != "" {
				t.Fatalf("a change was refused: got %s, want \"\"", w.failure)
			}
			var now string
			within(t, 2*time.Second, "the API answers again", func() (err error) { now, err = a.text(key); return err })
			kept := last // the minimum that must be stored
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
		// The content of the store is visible after opening it again.
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
			t.Fatalf("life %d: the API returned %q, and %q (%v) after a restart", life, now, again, err)
		}
		within(t, 2*time.Second, "the engine answers the same", func() error { return answersWith(addr, now) })
	}
	if changes < 20 {
		t.Errorf("only %d changes were acknowledged between the kills", changes)
	}
	t.Logf("%d changes were acknowledged between %d kills", changes, 5*lives)
}

// answersWith checks that a farm without backends responds with that text.
func answersWith(addr, text string) error {
	resp, err := insecure.Get("http://" + addr + "/")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && text != "" && strings.TrimSpace(string(b)) != text {
		err = fmt.Errorf("it answers %s with %q, want %q", resp.Status, b, text)
	}
	return err
}
