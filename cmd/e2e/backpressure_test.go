package e2e_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// gigabyte is the amount one side sends while the other does not read.
const gigabyte = 1 << 30

// pattern writes a gigabyte in which all megabytes differ, and returns its checksum. sent
// counts the bytes written.
func pattern(w io.Writer, sent *atomic.Int64) (uint32, error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 31 >> 3)
	}
	for n := range gigabyte / len(block) {
		binary.BigEndian.PutUint64(block, uint64(n))
		_, _ = sum.Write(block)
		for rest := block; len(rest) > 0; { // in pieces, so that sent shows when writing stalls
			m, err := w.Write(rest[:64<<10])
			sent.Add(int64(m))
			if err != nil {
				return 0, err
			}
			rest = rest[m:]
		}
	}
	return sum.Sum32(), nil
}

func checksum() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// stalls waits until the sender makes no progress and then observes the engine. It returns
// the engine's maximum memory.
func stalls(t *testing.T, pid int, sent *atomic.Int64) (most int64) {
	t.Helper()
	before, quiet := int64(-1), 0
	for end := time.Now().Add(10 * time.Second); quiet < 20; time.Sleep(20 * time.Millisecond) {
		now := sent.Load()
		if quiet++; now != before {
			before, quiet = now, 0
		}
		most = max(most, footprintOf(t, pid).anonymous)
		if time.Now().After(end) {
			t.Fatalf("the sender is not held back: %d MiB left it", now>>20)
		}
	}
	if before > 64<<20 {
		t.Errorf("%d MiB left the sender before it was held back", before>>20)
	}
	t.Logf("%d MiB left the sender before it was held back", before>>20)
	return most
}

const stallGrowth = 1 << 20 // maximum engine memory for a peer that does not read

func TestNonReadingClientUsesNoMemory(t *testing.T) {
	if raceBuild {
		t.Skip("not shown: the race detector's own memory hides the engine's; shown by `make test`")
	}
	var sent atomic.Int64
	sums := make(chan uint32, 1)
	a := start(t, asOne(), dataDir(t, asOne()))
	url := a.farm("shop", rawBackend(t, func(c net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if request.URL.Path == "/small" {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", gigabyte)
		sum, err := pattern(c, &sent)
		if err != nil {
			t.Errorf("the backend could not send: %v", err)
		}
		sums <- sum
	}))
	wantAnswer(t, url+"small", "ok")
	pid := a.pid("engine")
	before := footprintOf(t, pid).anonymous

	c, err := net.Dial("tcp4", hostOf(url))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	_, _ = io.WriteString(c, "GET /large HTTP/1.1\r\nHost: shop\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	stalled := stalls(t, pid, &sent)
	sum := checksum()
	n, err := io.CopyBuffer(sum, onlyReader{res.Body}, make([]byte, 256<<10))
	if err != nil || n != gigabyte {
		t.Fatalf("got %d bytes arrived, then %v, want %d", n, err, gigabyte)
	}
	if want := <-sums; sum.Sum32() != want {
		t.Errorf("checksum %#x, sent was %#x", sum.Sum32(), want)
	}
	grown(t, pid, before, stalled)
}

func TestNonReadingBackendUsesNoMemory(t *testing.T) {
	if raceBuild {
		t.Skip("not shown: the race detector's own memory hides the engine's; shown by `make test`")
	}
	a := start(t, asOne(), dataDir(t, asOne()))
	read, sums := make(chan struct{}), make(chan uint32, 1)
	url := a.farm("shop", rawBackend(t, func(c net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if request.Method == http.MethodPut {
			<-read
			sum := checksum()
			if n, err := io.CopyBuffer(sum, onlyReader{request.Body}, make([]byte, 256<<10)); err != nil || n != gigabyte {
				t.Errorf("got %d bytes arrived, then %v, want %d", n, err, gigabyte)
			}
			sums <- sum.Sum32()
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
	}))
	wantAnswer(t, url, "ok")
	pid := a.pid("engine")
	before := footprintOf(t, pid).anonymous

	c, err := net.Dial("tcp4", hostOf(url))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	var sent atomic.Int64
	want := make(chan uint32, 1)
	go func() {
		fmt.Fprintf(c, "PUT /large HTTP/1.1\r\nHost: shop\r\nContent-Length: %d\r\n\r\n", gigabyte)
		sum, err := pattern(c, &sent)
		if err != nil {
			t.Errorf("the client could not send: %v", err)
		}
		want <- sum
	}()
	stalled := stalls(t, pid, &sent)
	close(read)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("answer %v, %v", res, err)
	}
	if got, want := <-sums, <-want; got != want {
		t.Errorf("checksum %#x, sent was %#x", got, want)
	}
	grown(t, pid, before, stalled)
}

func grown(t *testing.T, pid int, before, stalled int64) {
	t.Helper()
	after := footprintOf(t, pid).anonymous
	t.Logf("the engine had %d KiB before, at most %d while stalled, %d after", before>>10, stalled>>10, after>>10)
	if grown := max(stalled, after) - before; grown > stallGrowth {
		t.Errorf("the engine grew by %d KiB, at most %d are allowed", grown>>10, stallGrowth>>10)
	}
}

// onlyReader hides other methods, so that a copy uses its own buffer.
type onlyReader struct{ io.Reader }

// rawBackend handles each connection with script.
func rawBackend(t *testing.T, script func(c net.Conn, r *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	each(l, func(c net.Conn) { script(c, bufio.NewReader(c)) })
	return l.Addr().String()
}

// hostOf returns the address in a farm's URL.
func hostOf(url string) string { return url[len("http://") : len(url)-1] }
