package supervisor

import (
	"os"
	"testing"
)

// Programs are ended by user, so two appliances on one machine need different users.
func TestAppliancesHaveDifferentUsersForPrograms(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: others cannot give programs users of their own")
	}
	o := owners{change: true}
	one, err := takeBoxes(o)
	if err != nil || one.first == 0 || one.lock == nil {
		t.Skipf("not shown: %+v, %v", one, err) // the maximum number of appliances is running
	}
	defer one.close()
	other, err := takeBoxes(o)
	if err != nil {
		t.Skipf("not shown: %v", err)
	}
	defer other.close()
	for _, b := range []boxes{one, other} {
		if b.first < firstBoxID || b.first+Boxes > firstBoxID+boxRanges*Boxes || (b.first-firstBoxID)%Boxes != 0 {
			t.Errorf("uids from %d", b.first)
		}
	}
	if one.first == other.first {
		t.Errorf("both have the uids from %d", one.first)
	}
}

func TestProgramsGetNoUsersWithoutRoot(t *testing.T) {
	if b, err := takeBoxes(owners{}); b.first != 0 || err != nil {
		t.Errorf("%+v, %v", b, err)
	}
}

// The uids of programs are in a range that systemd and Debian leave unused.
func TestUsersOfProgramsAreUnusedOnes(t *testing.T) {
	if last := firstBoxID + boxRanges*Boxes - 1; firstBoxID < 60578 || last > 61183 || engineID <= last {
		t.Errorf("%d to %d", firstBoxID, last)
	}
}
