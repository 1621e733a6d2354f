package ctl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

// The kernel may reject the rules of every farm.
func TestThousandsOfProblemsReachTheClient(t *testing.T) {
	const lines = 20_000
	problems := map[uint32]string{}
	var all []error
	for i := range uint32(lines) {
		problems[i] = fmt.Sprintf("the kernel refuses its rules: packet filter: Could not process rule: No such file or directory: add ct helper inet sluice sane%d", i)
		all = append(all, errors.New(problems[i]))
	}
	path := ctltest.Serve(t, ctltest.Self(), ctl.Parts{
		ctl.OpKernelState: func(context.Context, []byte, []*os.File) (any, error) {
			return ctl.KernelState{Problems: problems}, nil
		},
		ctl.OpKernelRules: func(context.Context, []byte, []*os.File) (any, error) { return nil, errors.Join(all...) },
		ctl.OpKernelObjects: func(context.Context, []byte, []*os.File) (any, error) {
			return nil, errors.New(strings.Repeat("ä", 1<<20))
		},
	})
	c := ctltest.Client(t, path)
	state, err := c.KernelState(t.Context())
	if err != nil || len(state.Problems) != lines || state.Problems[lines-1] != problems[lines-1] {
		t.Errorf("%d problems, %v", len(state.Problems), err)
	}
	var refused *ctl.Error
	_, err = c.KernelRules(t.Context(), 1)
	if !errors.As(err, &refused) || !strings.HasPrefix(refused.Text, problems[0]+"\n"+problems[1]+"\n") || !strings.HasSuffix(refused.Text, " more lines") || len(refused.Text) > 8<<10 {
		t.Errorf("as an error: %.300v", err)
	}
	if _, err = c.KernelObjects(t.Context()); !errors.As(err, &refused) || len(refused.Text) > 8<<10 || !strings.HasSuffix(refused.Text, "ä…") {
		t.Errorf("a line without an end: %.300v", err)
	}
	if _, err = c.KernelState(t.Context()); err != nil {
		t.Errorf("the next question: %v", err)
	}
}
