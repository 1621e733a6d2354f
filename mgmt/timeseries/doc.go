// Package timeseries keeps numbers over time in files of a fixed size: one for each
// object (a farm, the system), which holds all its series.
//
// Every file has four archives: values every 5 s for an hour, means over a minute for
// a day, over 5 minutes for a week and over an hour for a year. Newer rows take the
// place of the oldest. A row is its time and one value of 16 bits for each series, so
// that the file of a farm with ten backends stays below 1 MiB.
//
// Values are rounded to 0.05 %, and are not negative. What was not measured is not
// known, which is something else than 0.
//
// Nothing is synced: the files survive the end of the process at any time, and the
// machine's death costs the last seconds at most. A file that cannot be read is put
// aside, and another is begun.
package timeseries
