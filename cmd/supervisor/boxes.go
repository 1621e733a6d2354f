package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Programs of operators run under uids and gids that systemd, Debian and containers leave
// unused. Each appliance has Boxes of them, so that each running program has its own.
const (
	// Boxes is the maximum number of concurrent programs.
	Boxes      = 64
	firstBoxID = 60610
	boxRanges  = 8
)

// boxFolder holds a lock for each range of uids. Uids belong to the whole machine, in
// contrast to slots, which belong to a network namespace.
const boxFolder = "/run/sluice-programs"

// boxes is a range of uids that belongs to this appliance while lock is open.
type boxes struct {
	first uint32 // 0: programs have no users of their own
	lock  *os.File
}

// takeBoxes claims a range of uids. The last range is left to appliances that cannot lock
// any.
func takeBoxes(o owners) (b boxes, err error) {
	if !o.change || !mapped(firstBoxID) || !mapped(firstBoxID+boxRanges*Boxes-1) {
		return boxes{}, nil
	}
	b.first = firstBoxID + (boxRanges-1)*Boxes
	if err := os.Mkdir(boxFolder, 0o700); err != nil && !os.IsExist(err) {
		return b, fmt.Errorf("lock users for programs: %w", err)
	}
	for i := range uint32(boxRanges - 1) {
		f, err := os.OpenFile(filepath.Join(boxFolder, strconv.Itoa(int(i))), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return b, fmt.Errorf("lock users for programs: %w", err)
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return boxes{firstBoxID + i*Boxes, f}, nil
		}
		_ = f.Close()
	}
	return b, fmt.Errorf("lock users for programs: %d appliances run already", boxRanges-1)
}

func (b *boxes) close() {
	if b.lock != nil {
		_ = b.lock.Close()
	}
}
