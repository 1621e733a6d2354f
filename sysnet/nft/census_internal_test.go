package nft

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/descriptortest"
)

// message encodes a netlink message of the kernel.
func message(kind, flags uint16, body ...byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
	b = binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(b, kind), flags)
	return append(append(b, make([]byte, 8)...), body...)
}

func errno(n unix.Errno) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(-int32(n))) }

func TestKernelAnswersAreReadCompletely(t *testing.T) {
	one, two := message(9, 0, 0, 0, 0, 0, 'a', 0, 0), message(9, 0, 0, 0, 0, 0, 'b', 'b', 0, 0)
	one = append(one, 0) // messages are aligned to four bytes
	done := message(unix.NLMSG_DONE, 0)
	for name, c := range map[string]struct {
		b     []byte
		seen  string
		ended bool
		is    error
	}{
		"nothing":              {nil, "", false, nil},
		"two, more follow":     {slices.Concat(one, two), "a|bb|", false, nil},
		"two, and the end":     {slices.Concat(one, two, done, one), "a|bb|", true, nil},
		"the last is not full": {slices.Concat(two, one[:23]), "bb|a|", false, nil},
		"changed meanwhile":    {slices.Concat(one, message(9, unix.NLM_F_DUMP_INTR, 0, 0, 0, 0, 'b')), "a|", true, ErrChanging},
		"an error":             {slices.Concat(one, message(unix.NLMSG_ERROR, 0, errno(unix.ENOENT)...)), "a|", true, unix.ENOENT},
		"an error without one": {message(unix.NLMSG_ERROR, 0, 1, 2, 3), "", true, errNoAnswer},
		"no head of its own":   {message(9, 0, 1, 2, 3), "", true, errNoAnswer},
		"that and no more":     {message(9, 0, 1, 2, 3, 4), "|", false, nil},
		"longer than it is":    {one[:22], "", true, errNoAnswer},
		"shorter than a head":  {append([]byte{15, 0, 0, 0}, make([]byte, 12)...), "", true, errNoAnswer},
	} {
		var seen strings.Builder
		ended, err := messages(c.b, func(body []byte) { seen.WriteString(word(body) + "|") })
		if ended != c.ended || !errors.Is(err, c.is) || c.is == nil && err != nil || seen.String() != c.seen {
			t.Errorf("%s: ended %v, %v, seen %q", name, ended, err, seen.String())
		}
	}
}

func TestOneAnswerOfTheKernelIsFoundOrNot(t *testing.T) {
	element := func(kinds ...uint16) []byte {
		value := []byte{1, 2, 3, 4}
		for _, k := range slices.Backward(kinds) {
			value = attribute(k, value)
		}
		other := attribute(99, []byte{9})
		return message(msgNewElement, 0, slices.Concat(make([]byte, genHeader), other, value)...)
	}
	kinds := []uint16{unix.NFTA_SET_ELEM_LIST_ELEMENTS, unix.NFTA_LIST_ELEM, unix.NFTA_SET_ELEM_DATA, unix.NFTA_DATA_VALUE}
	got, ok, err := lookupAnswer(element(kinds...))
	if !ok || err != nil || !slices.Equal(got, []byte{1, 2, 3, 4}) {
		t.Errorf("%v, %v, %v", got, ok, err)
	}
	if _, ok, err := lookupAnswer(message(unix.NLMSG_ERROR, 0, errno(unix.ENOENT)...)); ok || err != nil {
		t.Errorf("a missing element: %v, %v", ok, err)
	}
	if _, ok, err := lookupAnswer(message(unix.NLMSG_ERROR, 0, errno(unix.EPERM)...)); ok || !errors.Is(err, unix.EPERM) {
		t.Errorf("a forbidden query: %v, %v", ok, err)
	}
	cut := element(kinds...)
	for name, b := range map[string][]byte{"nothing": nil, "too short": message(msgNewElement, 0, 1, 2, 3), "another message": message(7, 0, element(kinds...)[16:]...),
		"cut off": cut[:len(cut)-1], "no value": element(kinds[:3]...), "no element": element(99)} {
		if _, ok, err := lookupAnswer(b); ok || !errors.Is(err, errNoAnswer) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	for name, b := range map[string][]byte{"too short": {3, 0, 1, 0}, "too long": {9, 0, 1, 0, 5, 5, 5, 5}, "another": {4, 0, 2, 0}} {
		if got := within(b, 1); got != nil {
			t.Errorf("an attribute that is %s: got %v, want nil", name, got)
		}
	}
	if got := within([]byte{4, 0, 1, 0x80}, 1); got == nil || len(got) != 0 {
		t.Errorf("an empty attribute with nested ones: %v", got)
	}
}

// Any local process may send to a netlink socket.
func TestOnlyKernelMessagesAreAccepted(t *testing.T) {
	for from, want := range map[unix.Sockaddr]bool{
		&unix.SockaddrNetlink{Family: unix.AF_NETLINK}:            true,
		&unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: 4711}: false,
		&unix.SockaddrUnix{}: false,
	} {
		if fromKernel(from) != want {
			t.Errorf("%+v: got %v, want %v", from, !want, want)
		}
	}
	if fromKernel(nil) {
		t.Error("a missing sender counts as the kernel")
	}
}

func TestMessagesOfOtherProcessesAreIgnored(t *testing.T) {
	socket := func() (fd int, at *unix.SockaddrNetlink) {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_USERSOCK)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			t.Fatal(err)
		}
		bound, err := unix.Getsockname(fd)
		if err != nil {
			t.Fatal(err)
		}
		return fd, bound.(*unix.SockaddrNetlink)
	}
	asking, at := socket()
	other, _ := socket()
	short := unix.NsecToTimeval(int64(50 * time.Millisecond))
	if err := unix.SetsockoptTimeval(asking, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &short); err != nil {
		t.Fatal(err)
	}
	if err := unix.Sendto(other, message(unix.NLMSG_DONE, 0), 0, at); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, from, err := unix.Recvfrom(asking, b, unix.MSG_PEEK); n != 16 || err != nil || from.(*unix.SockaddrNetlink).Pid == 0 {
		t.Fatalf("received %d bytes of %+v, %v", n, from, err)
	}
	if n, err := receive(asking, b); n != 0 || !errors.Is(err, unix.EAGAIN) {
		t.Errorf("a foreign message is accepted: %d bytes, %v", n, err)
	}
}

// Queries open a socket, which fails without a free descriptor.
func TestKernelQueriesFailWithoutDescriptors(t *testing.T) {
	restore := descriptortest.Limit(t, 0)
	_, generation := Generation()
	_, rules := CountRules(Table{"inet", "sluice"})
	_, elements := CountElements(ID{Table{"inet", "sluice"}, "x"})
	_, _, value := Lookup(ID{Table{"inet", "sluice"}, "x"}, []byte{1})
	restore()
	for what, err := range map[string]error{"generation": generation, "rules": rules, "elements": elements, "value": value} {
		if !errors.Is(err, unix.EMFILE) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
