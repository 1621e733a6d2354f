package shm_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/shm/shmtest"
)

func unsealedMemfd(t *testing.T) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("open", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "open")
	f.WriteString("can still change")
	return f
}

func TestMessageArrivesWithItsDescriptors(t *testing.T) {
	noLeak(t, func() {
		a, b := shmtest.Pair(t)
		raw, err := b.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Control(func(fd uintptr) { // credentials are sent as well
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		var sent []*os.File
		for i := range 3 {
			f, err := shm.Sealed("test", []byte{byte(i)})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			sent = append(sent, f)
		}
		if err := shm.Send(a, []byte("three"), sent...); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, shm.MaxMessage)
		n, files, err := shm.Receive(b, buf)
		if err != nil || string(buf[:n]) != "three" || len(files) != 3 {
			t.Fatalf("got %q, %d files, %v", buf[:n], len(files), err)
		}
		for i, f := range files {
			defer f.Close()
			got := make([]byte, 1)
			if _, err := f.ReadAt(got, 0); err != nil || got[0] != byte(i) {
				t.Errorf("file %d holds %v, %v", i, got, err)
			}
			if flags := flagsOf(t, f, unix.F_GETFD); flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("file %d stays open on exec", i)
			}
		}
		a.Close()
		b.Close()
	})
}

func TestLargestMessageWithMostDescriptorsArrives(t *testing.T) {
	noLeak(t, func() {
		a, b := shmtest.Pair(t)
		f, err := shm.Sealed("test", []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		msg := bytes.Repeat([]byte("m"), shm.MaxMessage)
		if err := shm.Send(a, msg, repeat(f, shm.MaxFiles)...); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, shm.MaxMessage)
		n, files, err := shm.Receive(b, buf)
		if err != nil || n != len(msg) || len(files) != shm.MaxFiles {
			t.Fatalf("got %d bytes, %d files, %v", n, len(files), err)
		}
		for _, f := range files {
			f.Close()
		}
		a.Close()
		b.Close()
	})
}

func TestSendRefusesOversizedMessages(t *testing.T) {
	a, _ := shmtest.Pair(t)
	f, err := shm.Sealed("test", []byte("x"))
	closing(t, f, err)
	cases := map[string]struct {
		msg   []byte
		files []*os.File
		want  error
	}{
		"empty message":    {nil, nil, shm.ErrEmpty},
		"too long":         {make([]byte, shm.MaxMessage+1), nil, shm.ErrTooLarge},
		"too many files":   {[]byte("m"), repeat(f, shm.MaxFiles+1), shm.ErrTooLarge},
		"only descriptors": {nil, []*os.File{f}, shm.ErrEmpty},
	}
	for name, c := range cases {
		if err := shm.Send(a, c.msg, c.files...); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	closed, _ := os.Open(os.DevNull)
	closed.Close()
	if err := shm.Send(a, []byte("m"), closed); err == nil {
		t.Error("a closed file was sent")
	}
}

// A peer that exceeds the limits of Send must not leave descriptors open here.
func TestTruncationIsAnErrorAndLeaksNothing(t *testing.T) {
	cases := map[string]struct{ bytes, files, room int }{
		"message longer than the buffer": {bytes: 100, files: 0, room: 10},
		"with descriptors":               {bytes: 100, files: 5, room: 10},
		"too many descriptors":           {bytes: 1, files: 253, room: 10},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			noLeak(t, func() {
				a, b := shmtest.Pair(t)
				sendRaw(t, a, make([]byte, c.bytes), c.files)
				n, files, err := shm.Receive(b, make([]byte, c.room))
				if !errors.Is(err, shm.ErrTruncated) || n != 0 || files != nil {
					t.Errorf("got %d, %v, %v, want ErrTruncated", n, files, err)
				}
				a.Close()
				b.Close()
			})
		})
	}
}

func TestReceiveAtTheDescriptorLimitFailsAndLeaksNothing(t *testing.T) {
	a, b := shmtest.Pair(t)
	noLeak(t, func() {
		sendRaw(t, a, []byte("m"), 20)
		restore := descriptortest.Limit(t, descriptors()+5)
		_, files, err := shm.Receive(b, make([]byte, 10))
		restore()
		if !errors.Is(err, shm.ErrTruncated) || files != nil {
			t.Errorf("got %d files, %v, want ErrTruncated", len(files), err)
		}
	})
}

func TestReceiveReportsTheEndOfThePeer(t *testing.T) {
	a, b := shmtest.Pair(t)
	a.Close()
	if _, _, err := shm.Receive(b, make([]byte, 10)); err != io.EOF {
		t.Errorf("receive: got %v, want EOF", err)
	}
	if err := shm.Send(b, []byte("m")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("send: got %v, want EPIPE", err)
	}
}

func TestEmptyMessageWithDescriptorsCountsAsEndAndLeaksNothing(t *testing.T) {
	noLeak(t, func() {
		a, b := shmtest.Pair(t)
		sendRaw(t, a, nil, 3)
		if _, files, err := shm.Receive(b, make([]byte, 10)); err != io.EOF || files != nil {
			t.Errorf("got %v, %v, want EOF", files, err)
		}
		a.Close()
		b.Close()
	})
}

func TestDeadlineEndsReceive(t *testing.T) {
	_, b := shmtest.Pair(t)
	b.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, _, err := shm.Receive(b, make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// O_NONBLOCK belongs to the open file, not to a process: passing a listener must not
// switch the sender's to blocking mode.
func TestPassingAndDetachingKeepsASocketNonBlocking(t *testing.T) {
	noLeak(t, func() {
		a, b := shmtest.Pair(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		lf, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer lf.Close()
		if err := shm.Send(a, []byte("listener"), lf); err != nil {
			t.Fatal(err)
		}
		_, files, err := shm.Receive(b, make([]byte, 10))
		if err != nil {
			t.Fatal(err)
		}
		fd, err := shm.Detach(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := files[0].Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file is still open after Detach: %v", err)
		}
		if again, err := shm.Detach(files[0]); err == nil || again != -1 {
			t.Errorf("detached once more: %d, %v", again, err)
		}
		fl, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		cl, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fl&unix.O_NONBLOCK == 0 || cl&unix.FD_CLOEXEC == 0 {
			t.Errorf("flags %#x, %#x: want non-blocking and close-on-exec", fl, cl)
		}
		unix.Close(fd)
		a.Close()
		b.Close()
	})
}

func TestPeerUIDComesFromTheKernel(t *testing.T) {
	a, _ := shmtest.Pair(t)
	uid, pid, err := shm.PeerUID(a)
	if err != nil || int(uid) != os.Getuid() || int(pid) != os.Getpid() {
		t.Errorf("got uid %d, pid %d, %v", uid, pid, err)
	}
	a.Close()
	if _, _, err := shm.PeerUID(a); err == nil {
		t.Error("credentials of a closed connection")
	}
}

func repeat(f *os.File, n int) []*os.File {
	files := make([]*os.File, n)
	for i := range files {
		files[i] = f
	}
	return files
}

// sendRaw sends messages that Send would reject: n copies of one descriptor.
func sendRaw(t *testing.T, c *net.UnixConn, msg []byte, n int) {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fds := make([]int, n)
	for i := range fds {
		fds[i] = int(null.Fd())
	}
	var oob []byte
	if n > 0 {
		oob = unix.UnixRights(fds...)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// A raw call is needed, because the libraries add a byte to an empty message with
	// descriptors.
	var hdr unix.Msghdr
	if len(oob) > 0 {
		hdr.Control = &oob[0]
		hdr.SetControllen(len(oob))
	}
	var iov unix.Iovec
	if len(msg) > 0 {
		iov.Base = &msg[0]
		iov.SetLen(len(msg))
		hdr.Iov = &iov
		hdr.SetIovlen(1)
	}
	var errno syscall.Errno
	raw.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&hdr)), 0)
	})
	if errno != 0 {
		t.Fatal(errno)
	}
}

func flagsOf(t *testing.T, f *os.File, cmd int) int {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, cmd, 0) })
	if err != nil {
		t.Fatal(err)
	}
	return flags
}
