package e2e_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// drip sends text one byte per second and returns the response and its time.
func drip(addr, text string, end time.Duration) (answer string, after time.Duration) {
	c, err := net.Dial("tcp4", addr)
	if err != nil {
		return err.Error(), 0
	}
	defer c.Close()
	began := time.Now()
	_ = c.SetReadDeadline(began.Add(end))
	go func() {
		for i := range len(text) {
			if _, err := io.WriteString(c, text[i:i+1]); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	first := make([]byte, 1)
	if _, err := io.ReadFull(c, first); err != nil {
		return err.Error(), time.Since(began)
	}
	after = time.Since(began)
	rest, _ := io.ReadAll(c)
	return string(first) + string(rest), after
}

// A head must be complete within reqtimeout, however slowly it is sent. A body may take
// longer as long as some of it arrives within each reqtimeout.
func TestSlowClientsTimeOutWithoutAffectingOthers(t *testing.T) {
	who := asOne()
	a := start(t, who, dataDir(t, who))
	addr := hostOf(a.farm("shop", mirror(t, "one")))
	const patience = 3 * time.Second
	a.must("farm", "set", "shop", fmt.Sprintf("reqtimeout=%d", int(patience.Seconds())))
	tr := under(t, addr, 4, 4, 2*time.Millisecond)
	pid := a.pid("engine")
	before := footprintOf(t, pid)

	var wait sync.WaitGroup
	slow := choose(2000, 200)
	for i := range slow {
		wait.Go(func() {
			if i%2 == 0 {
				answer, after := drip(addr, "GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n", 10*time.Second)
				if !strings.HasPrefix(answer, "HTTP/1.1 408 ") || after < patience-time.Second || after > patience+time.Second {
					t.Errorf("a head of one byte per second: %.60q after %v", answer, after)
				}
				return
			}
			c, err := net.Dial("tcp4", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(15 * time.Second))
			const body = "12345"
			fmt.Fprintf(c, "POST /slow HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(body))
			for i := range len(body) {
				time.Sleep(time.Second)
				_, _ = io.WriteString(c, body[i:i+1])
			}
			b, err := io.ReadAll(c)
			if text := string(b); !strings.HasPrefix(text, "HTTP/1.1 200 ") || !strings.HasSuffix(text, body) {
				t.Errorf("a body of one byte per second: %.100q, %v", text, err)
			}
		})
	}
	time.Sleep(2 * time.Second)
	during := footprintOf(t, pid)
	wait.Wait()
	tr.flawless(t)
	if longest := time.Duration(tr.longest.Load()); longest > time.Second {
		t.Errorf("another client waited %v", longest)
	}
	t.Logf("%d slow clients: %d KiB each", slow, (during.anonymous-before.anonymous)>>10/int64(slow))
	if each := (during.anonymous - before.anonymous) / int64(slow); each > 16<<10 && !raceBuild {
		t.Errorf("a slow client costs %d bytes", each)
	}
}
