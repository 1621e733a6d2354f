package cli

import (
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
)

// A command that changes objects of several kinds does not know the kind of its object. The value sent for NAME=null must therefore reset the field for each kind that has it.
func TestNullResetsAFieldOfEveryKind(t *testing.T) {
	shared := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if s := command.SettingsOf(cmd); s != nil {
			kinds := map[string]int{}
			for _, part := range s.Sections {
				for _, p := range part.Params {
					kinds[p.Name]++
					sent := s.Value(p.Name, "null")
					if sent != nil && !reflect.DeepEqual(sent, p.Plain.Default) {
						t.Errorf("%s: %s=null sends %v, and its default %s is %v", cmd.CommandPath(), p.Name, sent, part.Of, p.Plain.Default)
					}
					if sent == nil && p.Plain.Default != nil && slices.Contains(p.Options, "non_blank") && !slices.Contains(p.Options, "null") {
						t.Errorf("%s: %s=null is refused %s", cmd.CommandPath(), p.Name, part.Of)
					}
				}
			}
			for _, n := range kinds {
				if n > 1 {
					shared++
				}
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(Root())
	if shared < 20 {
		t.Errorf("%d fields of several kinds", shared)
	}
}
