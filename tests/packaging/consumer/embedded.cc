#include <bitsieve/filter.h>

#include <iostream>

int main() {
  bitsieve::Result<bitsieve::Filter> filter = bitsieve::Filter::Make({.capacity = 1000});
  if (!filter || !filter->Add("alice") || !filter->Save("filter.bsf")) return 1;
  const bitsieve::Result<bitsieve::Filter> mapped = bitsieve::Filter::Map("filter.bsf");
  std::cout << "found " << (mapped && mapped->MayContain("alice") ? 1 : 0) << " of 1; mapped\n";
}
