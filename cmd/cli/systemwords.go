package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// systemCommands returns the commands about the appliance and its machine.
func systemCommands(c *client) []*cobra.Command {
	return []*cobra.Command{c.backupCommand(), c.geoipCommand(), c.supportsaveCommand(), c.notificationCommand(), c.aliasCommand(), c.cloudCommand(), c.systemCommand(), c.versionCommand()}
}

// systemWords returns the commands about the appliance by meaning.
func systemWords() words {
	return words{
		configure:     append(sectionNames(), "alias set", "alias delete"),
		read:          []string{"backup download", "geoip find", "notification kinds", "supportsave", "system license", "version"},
		showAndChange: []string{"system language"},
		ask: map[string]asking{
			"backup apply":   unnamed,
			"system factory": never, // --force confirms it already
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
