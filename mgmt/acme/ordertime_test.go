package acme_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme"
)

type kept map[string]string

func (k kept) Setting(name string) (string, bool)  { v, ok := k[name]; return v, ok }
func (k kept) SetSetting(name, value string) error { k[name] = value; return nil }

func TestTheTimeOfAnOrderIsKeptWithinBounds(t *testing.T) {
	k := kept{}
	if got := acme.LoadOrderTime(k); got != acme.OrderTime {
		t.Errorf("unset it is %s, want %s", got, acme.OrderTime)
	}
	for limit, ok := range map[time.Duration]bool{
		acme.LeastOrderTime: true, acme.MostOrderTime: true, acme.LeastOrderTime - time.Second: false, acme.MostOrderTime + time.Second: false, time.Minute + time.Millisecond: false,
	} {
		k = kept{}
		err := acme.SaveOrderTime(k, limit)
		want := acme.OrderTime
		if ok {
			want = limit
		}
		if (err == nil) != ok || acme.LoadOrderTime(k) != want {
			t.Errorf("%s: %v, then %s", limit, err, acme.LoadOrderTime(k))
		}
	}
	if got := acme.LoadOrderTime(kept{"le_renewal_timeout": "1"}); got != acme.OrderTime {
		t.Errorf("out of bounds it is %s, want %s", got, acme.OrderTime)
	}
}

func TestOrderTimeoutIsConfigurable(t *testing.T) {
	k := kept{}
	m := acme.New(acme.Options{Store: k})
	before := m.Patience()
	if err := acme.SaveOrderTime(k, acme.OrderTime+time.Minute); err != nil || m.Patience() != before+time.Minute {
		t.Errorf("%v: orders may take %s, before %s", err, m.Patience(), before)
	}
}
