package claim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Holder is an instance that runs in this network namespace.
type Holder struct {
	Slot Slot
	// PID is that of its supervisor; 0 when it is in another namespace of
	// processes.
	PID int
	// Command is how it was started; empty when that cannot be seen.
	Command string
}

// String names the holder for people.
func (h Holder) String() string {
	text := "process " + fmt.Sprint(h.PID)
	if h.PID == 0 {
		text = "a process of another container"
	}
	if h.Command != "" {
		text += " (" + h.Command + ")"
	}
	return text + ", table inet " + h.Slot.Table()
}

// Claim is held until it is closed or the process ends.
type Claim struct {
	Slot Slot
	l    net.Listener
}

// Close gives the slot back.
func (c *Claim) Close() {
	if c != nil {
		_ = c.l.Close()
	}
}

// serve lets go of connections, which ask for no more than who holds the slot.
func (c *Claim) serve() {
	for {
		conn, err := c.l.Accept()
		if err != nil {
			return
		}
		_ = conn.Close()
	}
}

// ErrTaken: every slot is held by somebody.
var ErrTaken = errors.New("every slot is taken: at most 16 instances can have farms in the kernel of one network namespace")

// Order is in which order slots are tried: first the one the instance had, then
// that of an instance that is alone if first is set, then one that depends on
// name. Slots for which used returns true hold rules of another instance and come
// last.
func Order(had *Slot, first bool, name string, used func(Slot) bool) (all []Slot) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	for i := range uint32(Slots - 1) {
		all = append(all, Slot(1+(h.Sum32()+i)%(Slots-1)))
	}
	all = append(all, 0)
	slices.SortStableFunc(all, func(a, b Slot) int { return rank(used(a)) - rank(used(b)) })
	if first {
		all = toFront(all, 0)
	}
	if had != nil {
		all = toFront(all, *had)
	}
	return all
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

func toFront(all []Slot, s Slot) []Slot {
	return slices.Insert(slices.DeleteFunc(all, func(other Slot) bool { return other == s }), 0, s)
}

// Take claims the first of these slots that is free.
func Take(order []Slot) (*Claim, error) {
	for _, s := range order {
		l, err := net.Listen("unix", address(s))
		if err == nil {
			c := &Claim{s, l}
			go c.serve()
			return c, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return nil, err
		}
	}
	return nil, ErrTaken
}

func address(s Slot) string { return "@sluice/slot/" + s.String() }

// Holders are the instances that run in this network namespace. Sockets of that
// name that belong to an ordinary user are none, unless it is this one.
func Holders() (all []Holder) {
	for s := range Slot(Slots) {
		if h, ok := holder(s); ok {
			all = append(all, h)
		}
	}
	return all
}

func holder(s Slot) (h Holder, ok bool) {
	c, err := net.Dial("unix", address(s))
	if err != nil {
		return h, false
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return h, false
	}
	var peer *unix.Ucred
	_ = raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil || peer.Uid != 0 && peer.Uid != uint32(os.Geteuid()) {
		return h, false
	}
	h = Holder{Slot: s, PID: int(peer.Pid)}
	if words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", h.PID)); err == nil {
		h.Command = strings.TrimSpace(strings.ReplaceAll(string(words), "\x00", " "))
	}
	return h, true
}
