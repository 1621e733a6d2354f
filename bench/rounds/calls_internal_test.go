package rounds

import "testing"

func TestCallsAreTheTotalOfStrace(t *testing.T) {
	const table = `    calls syscall
--------- ----------------
     4711 epoll_pwait
        1 total_that_is_none
--------- ----------------
     4712 total
`
	if n, err := parseCalls(table); n != 4712 || err != nil {
		t.Errorf("got %d, %v, want 4712", n, err)
	}
	for _, broken := range []string{"", "    calls syscall\n", "x total\n", "1 2 total\n"} {
		if n, err := parseCalls(broken); err == nil {
			t.Errorf("%q: %d", broken, n)
		}
	}
}
