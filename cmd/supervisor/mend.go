package supervisor

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"

	"github.com/sluicelb/sluice/core/shm"
)

// headerSize is the size of a segment's header, which identifies its contents and layout.
// Roles never change it.
const headerSize = 16

// begun is the original header of a segment.
type begun struct {
	name   string
	file   *os.File
	header [headerSize]byte
	// spare: only the engine uses the segment, and its contents are expendable.
	spare bool
}

func begin(name string, file *os.File) (begun, error) {
	b := begun{name: name, file: file, spare: name == "sessions"}
	_, err := file.ReadAt(b.header[:], 0)
	return b, err
}

// mend restores the headers of segments overwritten by an engine, because all later engines
// would refuse them. If the header of sessions was overwritten, the contents may be damaged,
// too, and are discarded. alone means that no engine uses the segments.
func (m *memory) mend(log *slog.Logger, alone bool) {
	for i := range m.begun {
		b := &m.begun[i]
		if b.spare && !alone {
			continue
		}
		if mended, err := b.mend(); err != nil {
			log.Error("shared memory cannot be mended", "name", b.name, "error", err)
		} else if mended {
			log.Warn("the header of shared memory was overwritten: it is made anew", "name", b.name, "emptied", b.spare)
		}
	}
}

func (b *begun) mend() (mended bool, err error) {
	var now [headerSize]byte
	if _, err := b.file.ReadAt(now[:], 0); err != nil {
		return false, fmt.Errorf("read its header: %w", err)
	}
	if bytes.Equal(now[:], b.header[:]) {
		return false, nil
	}
	if b.spare {
		if err := shm.Empty(b.file); err != nil {
			return false, err
		}
	}
	_, err = b.file.WriteAt(b.header[:], 0)
	return true, err
}
