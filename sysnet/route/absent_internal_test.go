package route

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAbsentObjectsAreNoError(t *testing.T) {
	for err, gone := range map[error]bool{
		nil: true, unix.ENOENT: true, unix.ESRCH: true, unix.EAFNOSUPPORT: true, fs.ErrNotExist: true,
		unix.EPERM: false, unix.EBUSY: false, errors.New("another"): false,
	} {
		if err != nil {
			err = os.NewSyscallError("delete", err)
		}
		if got := absent(err); (got == nil) != gone || got != nil && got != err {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}
