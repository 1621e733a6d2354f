package conntrack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// dumpBuffer is the size of the receive buffer; the kernel sends at most 32 KiB.
	dumpBuffer = 64 << 10
	// dumpTries is the maximum number of attempts for an interrupted dump.
	dumpTries = 5
	// answerTimeout is the time limit for one response of the kernel.
	answerTimeout = 5 * time.Second
)

// Message types and attributes of linux/netfilter/nfnetlink_conntrack.h.
const (
	msgNew      = unix.NFNL_SUBSYS_CTNETLINK << 8
	msgGet      = unix.NFNL_SUBSYS_CTNETLINK<<8 | 1
	attrMark    = 8
	attrMask    = 21
	genHeader   = 4 // struct nfgenmsg
	netlinkHead = unix.SizeofNlMsghdr
)

// dump calls each for every entry that passes the kernel's filter, with a whole netlink
// message that is valid until each returns. It calls start before the first entry, and
// again when it restarts an interrupted dump.
func dump(ctx context.Context, f Filter, start func(), each func(msg []byte) error) error {
	for range dumpTries {
		start()
		err := dumpOnce(ctx, f, each)
		if !errors.Is(err, ErrInterrupted) {
			return err
		}
	}
	return fmt.Errorf("tracked connections: %w", ErrInterrupted)
}

func dumpOnce(ctx context.Context, f Filter, each func(msg []byte) error) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return fmt.Errorf("tracked connections: %w", os.NewSyscallError("socket", err))
	}
	defer unix.Close(fd)
	limit := unix.NsecToTimeval(int64(answerTimeout))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return fmt.Errorf("tracked connections: %w", os.NewSyscallError("setsockopt", err))
	}
	if err := unix.Sendto(fd, request(f), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("tracked connections: %w", os.NewSyscallError("sendto", err))
	}
	interrupted := false
	for buf := make([]byte, dumpBuffer); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, from, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOBUFS):
			return ErrInterrupted
		case err != nil:
			return fmt.Errorf("tracked connections: %w", os.NewSyscallError("recvfrom", err))
		}
		if a, ok := from.(*unix.SockaddrNetlink); !ok || a.Pid != 0 {
			continue // only the kernel may answer
		}
		done, torn, err := messages(buf[:n], each)
		interrupted = interrupted || torn
		if err != nil {
			return err
		}
		if done && interrupted {
			return ErrInterrupted
		}
		if done {
			return nil
		}
	}
}

// messages walks the messages of one receive. done means that the dump is complete, torn
// that the table changed during the dump.
func messages(b []byte, each func(msg []byte) error) (done, torn bool, err error) {
	for len(b) >= netlinkHead {
		size := int(binary.NativeEndian.Uint32(b))
		if size < netlinkHead || size > len(b) {
			return false, torn, fmt.Errorf("tracked connections: a message of %d bytes in %d", size, len(b))
		}
		kind, flags := binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:])
		torn = torn || flags&unix.NLM_F_DUMP_INTR != 0
		switch kind {
		case unix.NLMSG_DONE, unix.NLMSG_ERROR:
			return true, torn, status(b[netlinkHead:size])
		case msgNew:
			if err := each(b[:size]); err != nil {
				return false, torn, err
			}
		}
		b = b[min(align(size), len(b)):]
	}
	return false, torn, nil
}

// status returns the error code that ends a dump.
func status(b []byte) error {
	if len(b) < 4 {
		return nil
	}
	if n := int32(binary.NativeEndian.Uint32(b)); n < 0 {
		errno := unix.Errno(-n)
		if errno == unix.EINTR {
			return ErrInterrupted
		}
		return fmt.Errorf("tracked connections: %w", errno)
	}
	return nil
}

// request returns a message that requests all entries of a filter:
//
//	length, type, flags, sequence, port   struct nlmsghdr
//	family, version, resource             struct nfgenmsg
//	mark, mask                            attributes, big-endian
func request(f Filter) []byte {
	b := make([]byte, netlinkHead+genHeader, netlinkHead+genHeader+16)
	binary.NativeEndian.PutUint16(b[4:], msgGet)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b[netlinkHead] = byte(f.Family)
	if f.Mask != 0 {
		b = appendWord(b, attrMark, f.Mark)
		b = appendWord(b, attrMask, f.Mask)
	}
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

func appendWord(b []byte, kind uint16, value uint32) []byte {
	b = binary.NativeEndian.AppendUint16(b, 8)
	b = binary.NativeEndian.AppendUint16(b, kind)
	return binary.BigEndian.AppendUint32(b, value)
}

// align rounds up to the next multiple of four.
func align(n int) int { return (n + 3) &^ 3 }
