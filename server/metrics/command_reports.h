// command_reports.h: the sections of INFO that have a field for each command or error code.
// Thread-safe: free functions.
#pragma once

#include "server/metrics/metric_table.h"

namespace bitsieve::server {

// Commands without calls and refusals are left out, and so are codes without errors.
void EachCommand(MetricReadings& readings, const MetricRow::Field& field);
void EachErrorCode(MetricReadings& readings, const MetricRow::Field& field);
void EachLatency(MetricReadings& readings, const MetricRow::Field& field);

}  // namespace bitsieve::server
