package link_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/shm"
)

// frame returns one packet of the protocol.
func frame(more byte, body []byte) []byte { return append([]byte{1, more}, body...) }

func TestInvalidMessagesCloseOnlyTheirConnection(t *testing.T) {
	e := &engine{}
	path := serve(t, e)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cases := map[string]struct {
		packet []byte
		files  int
	}{
		"one byte":                     {[]byte{1}, 0},
		"other protocol":               {[]byte{2, 0, 0xa0}, 10},
		"unknown flag":                 {[]byte{1, 2, 0xa0}, 1},
		"no body":                      {frame(0, nil), 0},
		"endless empty frames":         {frame(1, nil), 0},
		"not cbor":                     {frame(0, []byte("GET / HTTP/1.1\r\n\r\n")), 0},
		"empty message":                {frame(0, []byte{0xa0}), 0},
		"a list":                       {frame(0, []byte{0x80}), 10},
		"an ack":                       {frame(0, link.EncodedAck(link.Ack{Generation: 1})), 10},
		"a hello":                      {frame(0, link.EncodedHello(link.Hello{})), 0},
		"an answer":                    {frame(0, link.EncodedAnswer(1, []link.Session{{Key: []byte("k")}}, "")), 0},
		"a question with a descriptor": {frame(0, link.EncodedQuestion(1, 1)), 10},
		"a question that says more":    {frame(0, []byte{0xa1, 4, 0xa2, 1, 1, 9, 1}), 0},
		"a publication that asks":      {frame(0, []byte{0xa2, 2, 0xa0, 4, 0xa0}), 10},
		"unknown kind":                 {frame(0, []byte{0xa1, 6, 0xa0}), 0},
		"two kinds":                    {frame(0, []byte{0xa2, 2, 0xa0, 3, 0xa0}), 10},
		"no snapshot":                  {frame(0, []byte{0xa1, 2, 0xa0}), 0},
		"more listeners than came":     {frame(0, link.EncodedPublication("k", 5)), 5},
		"fewer listeners than came":    {frame(0, link.EncodedPublication("k", 3)), 5},
		"a negative number":            {frame(0, link.EncodedPublication("k", -1)), 10},
		"a huge number":                {frame(0, link.EncodedPublication("k", 1<<62)), 10},
		"no key":                       {frame(0, link.EncodedPublication("", 1)), 10},
		"nested bomb":                  {frame(0, bytes.Repeat([]byte{0x81}, 60_000)), 0},
		"list that claims 2^32 things": {frame(0, []byte{0xa1, 2, 0xa1, 1, 0x9a, 255, 255, 255, 255}), 10},
	}
	for name, c := range cases {
		before := descriptors()
		conn := raw(t, path)
		files := make([]*os.File, c.files)
		for i := range files {
			files[i] = null
		}
		if err := shm.Send(conn, c.packet, files...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		waitClosed(t, conn)
		conn.Close()
		if ack := publish(t, dial(t, path), name, nil); ack.Generation != uint64(len(name)) {
			t.Errorf("after %s: got %+v", name, ack)
		}
		// Both ends of the last connection and its test snapshot may still be open.
		if after := descriptors(); after > before+3 {
			t.Errorf("%s: descriptors %d before, %d after", name, before, after)
		}
	}
}

func TestServerSurvivesNoise(t *testing.T) {
	path := serve(t, &engine{})
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		conn := raw(t, path)
		for range 5 {
			packet := make([]byte, 1+random.IntN(2000))
			for i := range packet {
				packet[i] = byte(random.Uint32())
			}
			packet[0] = 1
			if len(packet) > 1 {
				packet[1] &= 1
			}
			if shm.Send(conn, packet, null) != nil {
				break
			}
		}
		conn.Close()
	}
	publish(t, dial(t, path), "s", nil)
}

func TestMessageLargerThanAllowedIsCutOff(t *testing.T) {
	path := serve(t, &engine{})
	conn := raw(t, path)
	conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	packet := frame(1, make([]byte, 60_000))
	sent := 0
	for ; sent < 8<<20; sent += len(packet) {
		if err := shm.Send(conn, packet); err != nil {
			break
		}
	}
	if sent > 4<<20+500_000 {
		t.Errorf("the server read %d bytes of one message", sent)
	}
	waitClosed(t, conn)
}

func TestTooManyDescriptorsAreCutOffAndClosed(t *testing.T) {
	before := descriptors()
	errs := make(chan error, 1)
	conn := rawPeer(t, func(c *net.UnixConn) { errs <- link.ReadMessage(c) })
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	files := make([]*os.File, shm.MaxFiles)
	for i := range files {
		files[i] = null
	}
	for shm.Send(conn, frame(1, nil), files...) == nil {
		continue // until the reader has closed
	}
	conn.Close()
	// With a lower limit on descriptors the kernel truncates earlier.
	if err := <-errs; !errors.Is(err, link.ErrProtocol) || !strings.Contains(err.Error(), "descriptor") {
		t.Errorf("got %v", err)
	}
	if after := descriptors(); after > before+3 {
		t.Errorf("descriptors: %d before, %d after", before, after)
	}
}

func TestHalfAMessageTimesOut(t *testing.T) {
	path := serve(t, &engine{})
	conn := raw(t, path)
	start := time.Now()
	stop := make(chan struct{})
	go func() { // sends slowly, so that a timeout per frame would never expire
		defer close(stop)
		for shm.Send(conn, frame(1, []byte{0xa1})) == nil {
			time.Sleep(shortTimeout / 10)
		}
	}()
	waitClosed(t, conn)
	<-stop
	if took := time.Since(start); took < shortTimeout/2 {
		t.Errorf("closed after %v already", took)
	}
}

func TestStuckClientIsReplacedAtOnce(t *testing.T) {
	path := serve(t, &engine{})
	stuck := raw(t, path)
	if err := shm.Send(stuck, frame(1, []byte{0xa1})); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	publish(t, dial(t, path), "s", nil)
	if took := time.Since(start); took >= shortTimeout {
		t.Errorf("the next client waited %v", took)
	}
	waitClosed(t, stuck)
}

// A client that publishes without reading fills its socket with answers.
func TestClientThatNeverReadsIsClosed(t *testing.T) {
	e := &engine{answer: func([]byte, map[string][]*os.File) link.Ack {
		ack := link.Ack{Farms: map[uint32]string{}}
		for id := range uint32(4096) {
			ack.Farms[id] = "a reason that fills a socket buffer quickly, and the next one too"
		}
		return ack
	}}
	path := serve(t, e)
	conn := raw(t, path)
	snapshot := memory(t, "s")
	conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	for {
		if err := shm.Send(conn, frame(0, []byte{0xa1, 2, 0xa0}), snapshot); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the server waits for the client forever")
			}
			break
		}
	}
	if calls, _ := e.count(); calls > 3 {
		t.Errorf("%d publications were accepted without an answer", calls)
	}
}

func TestEachPublicationHasExactlyOneAnswer(t *testing.T) {
	path := serve(t, &engine{})
	conn := raw(t, path)
	snapshot := memory(t, "s")
	for range 3 {
		if err := shm.Send(conn, frame(0, []byte{0xa1, 2, 0xa0}), snapshot); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, shm.MaxMessage)
	for i := range 3 {
		n, files, err := shm.Receive(conn, buf)
		if err != nil || len(files) != 0 || !bytes.Equal(buf[:n], frame(0, link.EncodedSameAck(link.Ack{Generation: 1}))) {
			t.Fatalf("answer %d: %x, %d files, %v", i, buf[:n], len(files), err)
		}
	}
	conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, _, err := shm.Receive(conn, buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a fourth answer: %x, %v", buf[:n], err)
	}
}

func TestOtherUsersAreRefused(t *testing.T) {
	path := serve(t, &engine{}, uint32(os.Getuid())+1)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if c, err := link.Dial(ctx, path); !errors.Is(err, link.ErrGone) {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestRefusedConnectionDoesNotReplaceThePublisher(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can connect as another user")
	}
	path := serve(t, &engine{})
	c := dial(t, path)
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fd := connectAs(t, 65534, path)
	defer syscall.Close(fd)
	if n, err := syscall.Read(fd, make([]byte, 10)); n != 0 && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("another user reads %d bytes, %v", n, err)
	}
	publish(t, c, "s", nil)
	select {
	case <-c.Done():
		t.Error("the publisher was replaced")
	default:
	}
}

// connectAs connects with another effective user on a separate thread, because the raw
// system call changes only the calling thread.
func connectAs(t *testing.T, uid uintptr, path string) (fd int) {
	t.Helper()
	const keep = ^uintptr(0)
	errs := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		var err error
		if fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0); err == nil {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uid, keep); errno != 0 {
				err = errno
			} else {
				err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
			}
		}
		errs <- err
	}()
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	return fd
}
