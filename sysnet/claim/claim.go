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
	// PID is the process ID of its supervisor, or 0 if that is in another PID namespace.
	PID int
	// Command is the command line of the supervisor, or "" if it cannot be read.
	Command string
}

// String returns a description of the holder for messages.
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

// Claim is a held slot. It ends with Close or with the process.
type Claim struct {
	Slot Slot
	l    net.Listener
}

// Close releases the slot.
func (c *Claim) Close() {
	if c != nil {
		_ = c.l.Close()
	}
}

// serve accepts and closes connections, which only query the holder of the slot.
func (c *Claim) serve() {
	for {
		conn, err := c.l.Accept()
		if err != nil {
			return
		}
		_ = conn.Close()
	}
}

// ErrTaken means that all slots are held.
var ErrTaken = errors.New("every slot is taken: at most 16 instances can have farms in the kernel of one network namespace")

// Order returns the slots in the order in which an instance tries them: its previous slot,
// then slot 0 if first is set, then one derived from name. Slots for which used returns
// true contain rules of another instance and are last.
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

// Take claims the first free slot of order.
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

// Holders returns the running instances of this network namespace. Sockets with such a
// name that belong to an ordinary user are ignored, unless it is the current user.
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
