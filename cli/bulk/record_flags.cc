#include "cli/bulk/record_flags.h"

#include <map>

namespace bitsieve::cli {
namespace {

const std::map<std::string, RecordFormat::Kind>& Kinds() {
  static const std::map<std::string, RecordFormat::Kind> kKinds = {
      {"lines", RecordFormat::kLines}, {"nul", RecordFormat::kNul},         {"csv", RecordFormat::kCsv},
      {"tsv", RecordFormat::kTsv},     {"jsonl", RecordFormat::kJsonLines}, {"binary", RecordFormat::kBinary}};
  return kKinds;
}

}  // namespace

void RecordFlags::AddTo(CLI::App& command) {
  command
      .add_option("--format", format_,
                  "Format of the input: lines, nul (items end with a NUL), csv, tsv, jsonl (a JSON object per line), "
                  "or binary (records of a fixed length) [lines]")
      ->transform(CLI::IsMember(&Kinds()))
      ->type_name("FORMAT");
  command
      .add_option("--field", field_,
                  "csv, tsv: the column, by its number from 1 on, or by its name in the first line, which is then not "
                  "a record; jsonl: the member")
      ->type_name("NAME");
  command.add_option("--record-bytes", record_bytes_, "binary: the length of a record")->type_name("NUMBER");
  command.add_flag("--crlf", crlf_, "lines: they end with CR LF, and the CR is not part of the item");
  command.add_flag("--plain", plain_, "Read compressed input unchanged, without decompressing gzip and zstd");
}

RecordFormat RecordFlags::Format() const {
  return {.kind = Kinds().at(format_), .field = field_, .record_bytes = record_bytes_, .crlf = crlf_};
}

}  // namespace bitsieve::cli
