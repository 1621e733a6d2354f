package supervisor

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"

	"github.com/sluicelb/sluice/core/shm"
)

// headerSize is what a segment begins with: it says what the segment is and how its words
// lie, and no role changes it.
const headerSize = 16

// begun is how a segment began when it was made.
type begun struct {
	name   string
	file   *os.File
	header [headerSize]byte
	// spare: nobody but the engine uses it, and what is in it may be lost.
	spare bool
}

func begin(name string, file *os.File) (begun, error) {
	b := begun{name: name, file: file, spare: name == "sessions"}
	_, err := file.ReadAt(b.header[:], 0)
	return b, err
}

// mend gives segments the header again that an engine overwrote: the next one would
// refuse them, and so would every later one. Who overwrote the header of sessions may have
// overwritten these, too, so they are given up; alone says that no engine uses them.
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
