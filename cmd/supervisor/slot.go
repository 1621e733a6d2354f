package supervisor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// slotName is the file with the last slot of the instance, which identifies rules that
// outlived it.
const slotName = "netd.slot"

// takeSlot claims a slot for the instance of this data directory. If before is true, an
// instance ran there already, possibly of a version without slots, which used the names of
// the first slot. The claim ends with this process.
func takeSlot(d *data, o owners, before bool) (*claim.Claim, error) {
	had, err := lastSlot(d)
	if err != nil {
		return nil, err
	}
	tables, err := nft.TableNames()
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil // an ordinary user cannot set rules and needs no names
	}
	used := func(s claim.Slot) bool { return tables[s.Table()] }
	first := before || d.path == rootData || !used(0)
	c, err := claim.Take(claim.Order(had, first, d.path, used))
	if err != nil {
		return nil, err
	}
	return c, o.asManager(func() error { return d.writeSlot(c.Slot) })
}

// lastSlot returns the recorded slot, or nil.
func lastSlot(d *data) (*claim.Slot, error) {
	f, err := os.OpenFile(d.within(slotName), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 16))
	if err != nil {
		return nil, err
	}
	s, err := claim.Parse(string(b))
	if err != nil {
		return nil, nil // an empty file counts as missing
	}
	return &s, nil
}

func (d *data) writeSlot(s claim.Slot) error {
	f, err := os.OpenFile(d.within(slotName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, s.String()+"\n")
	return errors.Join(err, f.Close())
}

// has reports whether the directory has an entry of that name.
func (d *data) has(name string) bool {
	_, err := os.Lstat(d.within(name))
	return err == nil
}

// Slot claims the slot of a stopped appliance, to handle its kernel objects. Close releases
// it.
func (s *StoppedData) Slot() (*claim.Claim, error) {
	had, err := lastSlot(s.data)
	if err != nil {
		return nil, err
	}
	if had == nil {
		had = new(claim.Slot)
	}
	c, err := claim.Take([]claim.Slot{*had})
	if errors.Is(err, claim.ErrTaken) {
		return nil, &SlotTakenError{*had}
	}
	return c, err
}

// SlotTakenError means that the kernel objects of an appliance belong to another, running
// one.
type SlotTakenError struct{ Slot claim.Slot }

// Error names the running appliance.
func (e *SlotTakenError) Error() string {
	for _, h := range claim.Holders() {
		if h.Slot == e.Slot {
			return "another appliance runs and uses these rules: " + h.String()
		}
	}
	return "another appliance uses table inet " + e.Slot.Table()
}
