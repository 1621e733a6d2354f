// Package system has the fields and rules of the settings of the machine and of the appliance.
package system
