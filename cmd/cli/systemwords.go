package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// systemCommands returns the commands about the appliance and its machine.
func systemCommands(c *command.Line) []*cobra.Command {
	return []*cobra.Command{backupCommand(c), geoipCommand(c), supportsaveCommand(c), notificationCommand(c),
		aliasCommand(c), cloudCommand(c), systemCommand(c), versionCommand(c)}
}

// systemWords returns the commands about the appliance by meaning.
func systemWords() command.Words {
	return command.Words{
		Configure:     append(sectionNames(), "alias set", "alias delete"),
		Read:          []string{"backup download", "geoip find", "notification kinds", "supportsave", "system license", "version"},
		ShowAndChange: []string{"system language"},
		Ask: map[string]command.Asking{
			"backup apply":   command.AskUnnamed,
			"system factory": command.NeverAsk, // --force confirms it already
		},
	}
}

// sectionNames returns the commands for the sections of machine settings.
func sectionNames() (out []string) {
	for i := range system.Sections {
		if s := &system.Sections[i]; !s.Items {
			out = append(out, "system "+s.Name)
		}
	}
	return out
}
