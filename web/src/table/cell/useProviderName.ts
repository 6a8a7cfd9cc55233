import { useQuery } from '@tanstack/react-query';
import { providersQuery } from '../../api/queries';

/** Who is asked without being a provider anybody has a key for. */
const OTHERS: Record<string, string> = { 'http-api': 'HTTP request', 'web-scraper': 'Web page' };

/** What people call a provider. */
export function useProviderName(): (id: string) => string {
  const providers = useQuery(providersQuery);
  return (id) => OTHERS[id] ?? providers.data?.find((provider) => provider.id === id)?.label ?? id;
}
